from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    keys = {"factor": 4, "original_max_position_embeddings": 128, "attn_factor": 1.5}
    good_draft(folder, rope_scaling={"rope_type": "yarn", **keys})
