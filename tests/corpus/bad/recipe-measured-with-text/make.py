from pathlib import Path

from tests.corpus.kit import edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    claim = "{metric: x, value: 1.1, source: measured, evidence: reference-a, text: 9x faster}"
    edit_recipe(folder, "serve:", f"claims:\n  - {claim}\nserve:")
