import json
from pathlib import Path

from tests.corpus.kit import forget_amplitude, good_draft, good_recipe, training_manifest, yarn


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    yarn(folder, ", amplitude_as_trained: 1.1386")
    training_manifest(folder, config=json.loads((folder / "config.json").read_text()))
    forget_amplitude(folder)
