from pathlib import Path

from tests.corpus.kit import edit_index, sharded_draft


def make(folder: Path) -> None:
    sharded_draft(folder)
    edit_index(folder, lambda index: index["weight_map"].update(x="model-00001-of-00002.safetensors"))
