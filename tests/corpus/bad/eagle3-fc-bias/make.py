from pathlib import Path

import numpy as np

from tests.corpus.families import eagle3, write
from tests.corpus.kit import bf16


def make(folder: Path) -> None:
    draft = eagle3()
    draft.tensors["fc.bias"] = ("BF16", (64,), bf16(np.ones(64)))
    write(folder, draft)
