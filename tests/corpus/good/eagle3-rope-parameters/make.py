from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    draft.config["rope_parameters"] = {"rope_type": "default", "rope_theta": draft.config.pop("rope_theta")}
    write(folder, draft)
