from pathlib import Path

from tests.corpus.kit import edit_profile, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    token = "hf_" + "aB3dE5gH7jK9" * 3  # put together here, so that no scanner takes this file for a leak
    edit_profile(folder, "args:\n", f"environment: {{HF_TOKEN: {token}}}\nargs:\n")
