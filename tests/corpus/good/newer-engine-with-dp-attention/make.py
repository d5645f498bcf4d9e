from pathlib import Path

from tests.corpus.kit import arguments, edit_recipe, good_draft, good_recipe, no_caveats, on


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    arguments(folder, "--enable-dp-attention", "--enable-dp-lm-head", "--enable-mixed-chunk", "--enable-lora")
    on(folder, engine="sglang==0.5.23")
    no_caveats(folder)
    # The older spelling is deprecated there, and works.
    waiver = "  - {code: L009, reason: one command for two versions, until: 9999-12-31}"
    edit_recipe(folder, "waivers:", f"waivers:\n{waiver}")
