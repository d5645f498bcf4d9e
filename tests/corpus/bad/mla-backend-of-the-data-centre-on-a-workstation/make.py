from pathlib import Path

from tests.corpus.kit import arguments, caveat, good_draft, good_recipe, on


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    arguments(folder, "--decode-attention-backend cutedsl_mla")
    on(folder, "RTX PRO 6000")
    caveat(folder, "E018")
