from pathlib import Path

from tests.corpus.beside import target, target_config
from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    text = target_config(num_hidden_layers=6)
    target(folder, {"model_type": "vlm", "num_hidden_layers": 4, "text_config": text})
