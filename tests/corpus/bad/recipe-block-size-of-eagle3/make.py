from pathlib import Path

from tests.corpus.families import eagle3, recipe, write
from tests.corpus.kit import edit_recipe


def make(folder: Path) -> None:
    draft = eagle3()
    write(folder, draft)
    recipe(folder, draft)
    edit_recipe(folder, '"layers": 1', '"layers": 1, "block_size": 8')
