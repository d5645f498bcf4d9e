from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder, layer_types=["full_attention", "sliding_attention"], sliding_window=128)
