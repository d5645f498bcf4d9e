from pathlib import Path

from tests.corpus.kit import edit_profile, good_draft, good_recipe, served_by_vllm


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    served_by_vllm(folder)
    edit_profile(folder, "'{", "{")
    edit_profile(folder, "}'", "}")
