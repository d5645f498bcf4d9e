from pathlib import Path

from tests.corpus.kit import edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_recipe(folder, "manifest: unknown", "manifest: unknown\n  data: {name: x, disjoint_from: [bench]}")
