from pathlib import Path

from tests.corpus.beside import target, target_config
from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    target(folder, {"model_type": "vlm", "text_config": target_config()})
