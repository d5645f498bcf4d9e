from pathlib import Path

from tests.corpus.families import peagle, recipe, write


def make(folder: Path) -> None:
    draft = peagle()
    recipe(folder, draft)
    draft.config["rope_theta"] = 500000.0
    write(folder, draft)
