from pathlib import Path

from tests.corpus.beside import offsets_of, with_map
from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    ids = [*range(3, 100), *range(150, 181)]
    draft = with_map(eagle3(), "d2t", offsets_of(ids))
    write(folder, with_map(draft, "t2d", bytes(token in ids for token in range(256))))
