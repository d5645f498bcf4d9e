from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    draft = dspark()
    draft.config["dflash_config"]["markov_head_type"] = "gru"
    write(folder, draft)
