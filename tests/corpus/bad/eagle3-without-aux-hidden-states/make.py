from pathlib import Path

from tests.corpus.families import eagle3, recipe, write


def make(folder: Path) -> None:
    draft = eagle3()
    draft.config["eagle_config"]["use_aux_hidden_state"] = False
    write(folder, draft)
    recipe(folder, draft)
