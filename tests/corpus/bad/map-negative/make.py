from pathlib import Path

from tests.corpus.beside import ids_of, offsets_of, with_map
from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    ids = [-1, *ids_of(draft)[1:]]
    write(folder, with_map(draft, "d2t", offsets_of(ids)))
