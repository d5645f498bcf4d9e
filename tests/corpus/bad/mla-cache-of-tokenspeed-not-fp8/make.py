from pathlib import Path

from tests.corpus.kit import arguments, caveat, good_draft, good_recipe, on


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    arguments(folder, "--attention-backend tokenspeed_mla", "--speculative-draft-attention-backend triton")
    on(folder, "B200")
    caveat(folder, "E018")
