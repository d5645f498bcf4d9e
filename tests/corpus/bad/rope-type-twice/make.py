from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    scaling = {"rope_type": "linear", "type": "dynamic", "factor": 4.0}
    good_draft(folder, rope_scaling=scaling)
