from pathlib import Path

from tests.corpus.kit import arguments, good_draft, good_recipe, no_caveats, on


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    arguments(folder, "--enable-dp-attention", "--enable-dp-lm-head", "--enable-mixed-chunk", "--enable-lora")
    on(folder, engine="sglang==0.5.23")
    no_caveats(folder)
