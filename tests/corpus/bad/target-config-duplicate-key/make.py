from pathlib import Path

from tests.corpus.beside import target
from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    config = target(folder) / "config.json"
    config.write_text(config.read_text().replace("{", '{"num_hidden_layers": 5,', 1))
