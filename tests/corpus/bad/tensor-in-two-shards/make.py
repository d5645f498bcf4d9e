from pathlib import Path

from tests.corpus.kit import draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder)
    save(folder / "model-ema.safetensors", {"norm.weight": draft_tensors(seed=1)["norm.weight"]})
