from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    verifier = {"verifier": {"name_or_path": "/model/from_storage"}}
    good_draft(folder, speculators_config=verifier)
