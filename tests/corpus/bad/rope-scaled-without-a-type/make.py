from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    scaling = {"factor": 4, "original_max_position_embeddings": 128}
    good_draft(folder, rope_scaling=scaling)
