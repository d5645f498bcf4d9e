from pathlib import Path

from tests.corpus.kit import edit_dflash, edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    window = "dflash_config: {use_swa: true, swa_window_size: 64}"
    edit_recipe(folder, "    model_type:", f"    {window}\n    model_type:")
    edit_dflash(folder, use_swa=True, swa_window_size=64)
