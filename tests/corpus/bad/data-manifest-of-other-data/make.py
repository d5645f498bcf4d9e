from pathlib import Path

from tests.corpus.beside import HASHES, data_manifest, training_data
from tests.corpus.kit import good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    training_data(folder, manifest=data_manifest(folder, "traffic", HASHES[:5], name="chat"))
