from pathlib import Path

from tests.corpus.beside import HASHES, data_manifest, training_data
from tests.corpus.kit import good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    own = data_manifest(folder, "traffic", HASHES[:5])
    other = data_manifest(folder, "bench", HASHES[5:], name="chat")
    training_data(folder, manifest=own, disjoint_from=[{"name": "bench", "manifest": other}])
