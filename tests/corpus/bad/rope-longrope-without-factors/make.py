from pathlib import Path

from tests.corpus.kit import edit_config, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    edit_config(folder, rope_scaling={"rope_type": "longrope", "original_max_position_embeddings": 64})
