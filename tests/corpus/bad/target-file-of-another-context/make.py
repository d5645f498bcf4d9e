from pathlib import Path

from tests.corpus.beside import target
from tests.corpus.kit import edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    target(folder)
    edit_recipe(
        folder,
        "vocab_size: 256",
        "vocab_size: 256\nmax_position_embeddings: 256",
        "recipes/targets/big.yaml",
    )
