from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    draft.config["architectures"] = ["Eagle3DraftModel"]
    write(folder, draft)
