from pathlib import Path

from tests.corpus.kit import edit_config, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_config(folder, eagle_config={"use_aux_hidden_state": False})
