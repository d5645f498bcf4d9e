from pathlib import Path

from tests.corpus.families import eagle3, recipe, write


def make(folder: Path) -> None:
    draft = eagle3()
    recipe(folder, draft)
    draft.config["num_kv_heads"] = 1
    write(folder, draft)
