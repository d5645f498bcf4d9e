from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    recipe = folder.parent / "recipes" / "draft.yaml"
    recipe.unlink()
    recipe.symlink_to(Path(__file__))
