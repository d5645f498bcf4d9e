from pathlib import Path

from tests.corpus.families import dspark, recipe, write
from tests.corpus.kit import edit_profile


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    write(folder, draft)
    recipe(folder, draft)
    edit_profile(folder, "--speculative-num-draft-tokens 9", "--speculative-dflash-block-size 8")
