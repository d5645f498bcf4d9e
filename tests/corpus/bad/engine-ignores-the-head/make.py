from pathlib import Path

from tests.corpus.families import domino, recipe, write
from tests.corpus.kit import edit_profile, edit_recipe


def make(folder: Path) -> None:
    draft = domino()
    draft.config["architectures"] = ["DFlashDraftModel"]
    write(folder, draft)
    recipe(folder, draft)
    edit_profile(folder, "sglang==0.5.23", "sglang==0.5.14")
    edit_recipe(folder, '"caveats": []', '"caveats": ["E008", "E009"]')
