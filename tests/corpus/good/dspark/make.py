from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    draft = dspark()
    own = draft.config["dflash_config"]
    head = {key: value for key, value in own.items() if "markov" in key or "confidence" in key}
    draft.config.update(head)
    write(folder, draft)
