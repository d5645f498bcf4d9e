from pathlib import Path

from tests.corpus.beside import target, target_config
from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    write(folder, eagle3())
    target(folder, target_config(hidden_size=96))
