from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe, training_manifest


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    training_manifest(folder, run="draft-v1")
