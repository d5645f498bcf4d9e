from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3(layer="layers.0")
    draft.config["num_hidden_layers"] = 2
    write(folder, draft)
