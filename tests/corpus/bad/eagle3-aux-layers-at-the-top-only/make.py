from pathlib import Path

from tests.corpus.families import eagle3, recipe, write


def make(folder: Path) -> None:
    draft = eagle3()
    recipe(folder, draft)
    draft.config["eagle_aux_hidden_state_layer_ids"] = draft.config.pop("eagle_config")[
        "eagle_aux_hidden_state_layer_ids"
    ]
    write(folder, draft)
