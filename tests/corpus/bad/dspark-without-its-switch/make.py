from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    del draft.config["enable_confidence_head"]
    write(folder, draft)
