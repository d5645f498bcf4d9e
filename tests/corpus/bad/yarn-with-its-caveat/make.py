from pathlib import Path

from tests.corpus.kit import edit_config, edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_recipe(
        folder,
        "{type: default, theta: 10000}",
        "{type: yarn, theta: 10000, factor: 4, original_max_position_embeddings: 128, mscale: 1.0, "
        "mscale_all_dim: 1.0}",
    )
    yarn = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 128}
    edit_config(folder, rope_scaling=yarn | {"mscale": 1.0, "mscale_all_dim": 1.0})
    edit_recipe(folder, "serve:", "caveats: [E001]\nserve:")
