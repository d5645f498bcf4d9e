from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    cache = folder / "models--owner--draft"
    snapshot = cache / "snapshots" / "0123456789abcdef"
    good_draft(cache / "blobs")
    snapshot.mkdir(parents=True)
    for path in sorted((cache / "blobs").iterdir()):
        (snapshot / path.name).symlink_to(f"../../blobs/{path.name}")
