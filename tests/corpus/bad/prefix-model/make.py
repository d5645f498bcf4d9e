from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder)
    save(folder / WEIGHTS, {f"model.{name}": tensor for name, tensor in draft_tensors().items()})
