from pathlib import Path

from tests.corpus.families import dspark, recipe, write


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    recipe(folder, draft)
    draft.config["dspark_target_layer_ids"] = [0, 1, 3]
    write(folder, draft)
