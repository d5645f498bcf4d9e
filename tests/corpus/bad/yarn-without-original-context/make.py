from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder, rope_scaling={"rope_type": "yarn", "factor": 4.0})
