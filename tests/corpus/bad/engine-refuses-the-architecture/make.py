from pathlib import Path

from tests.corpus.families import dflash2, recipe, write
from tests.corpus.kit import edit_profile, edit_recipe


def make(folder: Path) -> None:
    draft = dflash2()
    write(folder, draft)
    recipe(folder, draft)
    edit_profile(folder, "sglang==0.5.23", "sglang==0.5.14")
    edit_recipe(folder, '"caveats": []', '"caveats": ["E008", "E009"]')
