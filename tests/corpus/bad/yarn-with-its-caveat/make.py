from pathlib import Path

from tests.corpus.kit import edit_recipe, good_draft, good_recipe, yarn


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    yarn(folder)
    edit_recipe(folder, "serve:", "caveats: [E001]\nserve:")
