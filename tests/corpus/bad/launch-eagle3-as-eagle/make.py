from pathlib import Path

from tests.corpus.families import eagle3, recipe, write
from tests.corpus.kit import edit_profile


def make(folder: Path) -> None:
    draft = eagle3()
    write(folder, draft)
    recipe(folder, draft)
    edit_profile(folder, "EAGLE3", "EAGLE")
