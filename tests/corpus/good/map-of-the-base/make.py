from pathlib import Path

from tests.corpus.families import eagle3, recipe, write
from tests.corpus.kit import edit_recipe


def make(folder: Path) -> None:
    draft = eagle3()
    recipe(folder, draft)
    edit_recipe(folder, '"target": "big",', '"target": "big", "base": {"repo": "./base"},')
    write(folder.parent / "base", draft)
    write(folder, draft)
