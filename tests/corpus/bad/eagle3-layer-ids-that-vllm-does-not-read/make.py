from pathlib import Path

from tests.corpus.families import eagle3, on_vllm, recipe, write


def make(folder: Path) -> None:
    draft = eagle3()
    draft.config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [0, 2, 3]
    write(folder, draft)
    recipe(folder, draft)
    on_vllm(folder, caveats=["E040"])
