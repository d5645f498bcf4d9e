from pathlib import Path

from tests.corpus.beside import ids_of, offsets_of, with_map
from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    ids = ids_of(draft)
    ids[5] = ids[4]
    write(folder, with_map(draft, "d2t", offsets_of(ids)))
