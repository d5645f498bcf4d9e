from pathlib import Path

from tests.corpus.kit import edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder, dflash_config={"target_layer_ids": [0, 1, 2], "mask_token_id": 0})
    good_recipe(folder)
    edit_recipe(folder, "mask_token: {id: 4}", "mask_token: {id: 0}")
