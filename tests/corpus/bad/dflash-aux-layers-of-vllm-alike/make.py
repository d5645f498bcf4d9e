from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder, eagle_aux_hidden_state_layer_ids=[0, 1, 2])
