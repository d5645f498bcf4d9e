from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe, no_caveats, on


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    on(folder, engine="sglang==0.5.20")
    no_caveats(folder)
