from pathlib import Path

from tests.corpus.beside import with_map
from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    write(folder, with_map(draft, "t2d", draft.tensors["t2d"][2][::2] * 2))
