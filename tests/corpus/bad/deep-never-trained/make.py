from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder, intermediate_size=1024)
    save(folder / WEIGHTS, draft_tensors(intermediate=1024))
