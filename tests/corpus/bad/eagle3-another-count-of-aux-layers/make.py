from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    draft.config["num_aux_hidden_states"] = 4
    write(folder, draft)
