from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    draft.config["eagle_aux_hidden_state_layer_ids"] = [1, 2, 3]
    write(folder, draft)
