from pathlib import Path

from tests.corpus.beside import ids_of, with_map
from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    ids = b"".join(token.to_bytes(8, "little") for token in ids_of(draft))
    write(folder, with_map(draft, "d2t", ids))
