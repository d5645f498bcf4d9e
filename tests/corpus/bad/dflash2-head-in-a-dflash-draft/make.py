from pathlib import Path

from tests.corpus.families import Draft, dflash2, write
from tests.corpus.kit import config


def make(folder: Path) -> None:
    draft = dflash2()
    write(folder, Draft("dflash", config(), draft.tensors))
