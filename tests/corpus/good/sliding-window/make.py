from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    kinds = ["sliding_attention", "full_attention"]
    good_draft(folder, layer_types=kinds, sliding_window=128, use_sliding_window=True)
