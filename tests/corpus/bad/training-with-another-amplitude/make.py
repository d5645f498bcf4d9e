from pathlib import Path

from tests.corpus.kit import edit_recipe, good_draft, good_recipe, training_manifest


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    training_manifest(folder, rope_amplitude=1.4159)
    edit_recipe(folder, "theta: 10000", "theta: 10000, amplitude_as_trained: 1.0")
