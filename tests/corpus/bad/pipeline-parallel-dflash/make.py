from pathlib import Path

from tests.corpus.kit import arguments, edit_profile, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    arguments(folder, "--pp-size 2")
    edit_profile(folder, "count: 1", "count: 2")
