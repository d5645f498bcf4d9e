from pathlib import Path

from tests.corpus.kit import edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder, hidden_act="gelu")
    good_recipe(folder)
    edit_recipe(folder, "hidden_act: silu", "hidden_act: gelu")
