from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / WEIGHTS).rename(folder / "step-383.bytes")
    (folder / WEIGHTS).symlink_to("step-383.bytes")
