from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    own = {"target_layer_ids": [0, 2, 3], "mask_token_id": 4}
    good_draft(folder, num_target_layers=3, target_num_hidden_layers=4, dflash_config=own)
