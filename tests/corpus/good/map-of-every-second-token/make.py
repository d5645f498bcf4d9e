from pathlib import Path

from tests.corpus.beside import offsets_of, with_map
from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = with_map(eagle3(), "d2t", offsets_of(range(0, 256, 2)))
    write(folder, with_map(draft, "t2d", b"\x01\x00" * 128))
