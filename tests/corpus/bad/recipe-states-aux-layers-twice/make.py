from pathlib import Path

from tests.corpus.kit import edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_recipe(
        folder, "    model_type:", "    dflash_config: {target_layer_ids: [0, 1, 3]}\n    model_type:"
    )
