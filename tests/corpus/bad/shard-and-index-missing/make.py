from pathlib import Path

from tests.corpus.kit import INDEX, sharded_draft


def make(folder: Path) -> None:
    sharded_draft(folder, shards=3)
    (folder / INDEX).unlink()
    (folder / "model-00002-of-00003.safetensors").unlink()
