from pathlib import Path

from tests.corpus.families import eagle3, write
from tests.corpus.kit import shard


def make(folder: Path) -> None:
    draft = eagle3()
    write(folder, draft)
    shard(folder, draft.tensors)
