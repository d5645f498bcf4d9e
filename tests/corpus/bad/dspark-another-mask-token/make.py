from pathlib import Path

from tests.corpus.families import dspark, recipe, write


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    recipe(folder, draft)
    draft.config["dflash_config"]["mask_token_id"] = 5
    write(folder, draft)
