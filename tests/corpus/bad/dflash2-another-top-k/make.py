from pathlib import Path

from tests.corpus.families import dflash2, recipe, write


def make(folder: Path) -> None:
    draft = dflash2()
    recipe(folder, draft)
    draft.config["dflash_config"]["selector_top_k"] = 8
    write(folder, draft)
