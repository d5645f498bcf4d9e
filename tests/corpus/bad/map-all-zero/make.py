from pathlib import Path

from tests.corpus.beside import with_map
from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    write(folder, with_map(eagle3(), "d2t", bytes(8 * 128)))
