from pathlib import Path

from tests.corpus.families import domino, write


def make(folder: Path) -> None:
    draft = domino()
    del draft.config["dflash_config"]["projector_type"]
    write(folder, draft)
