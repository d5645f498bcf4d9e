from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    draft = dspark()
    del draft.config["dflash_config"]["enable_confidence_head"]
    write(folder, draft)
