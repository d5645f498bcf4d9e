from pathlib import Path

from tests.corpus.beside import target, target_config
from tests.corpus.kit import good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    target(folder, target_config(num_hidden_layers=5))
