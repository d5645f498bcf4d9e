from pathlib import Path

from tests.corpus.kit import config, good_draft, good_recipe, training_manifest


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    training_manifest(
        folder, config=config(dflash_config={"target_layer_ids": [0, 1, 2], "mask_token_id": 5})
    )
