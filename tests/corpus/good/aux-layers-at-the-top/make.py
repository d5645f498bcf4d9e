from pathlib import Path

from tests.corpus.kit import edit_config, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_config(folder, dflash_config={"mask_token_id": 4}, target_layer_ids=[0, 1, 2])
