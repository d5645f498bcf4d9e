from pathlib import Path

from tests.corpus.kit import config, good_draft


def make(folder: Path) -> None:
    good_draft(folder, text_config=config(num_key_value_heads=4))
