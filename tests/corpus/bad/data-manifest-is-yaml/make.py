from pathlib import Path

from tests.corpus.beside import training_data
from tests.corpus.kit import good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    (folder.parent / "recipes" / "traffic.yaml").write_text("schema: data-manifest/1\n")
    training_data(folder, manifest="traffic.yaml")
