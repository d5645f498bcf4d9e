from pathlib import Path

import numpy as np

from tests.corpus.families import eagle3, write
from tests.corpus.kit import bf16


def make(folder: Path) -> None:
    draft = eagle3()
    draft.tensors["input_norm.weight"] = ("BF16", (192,), bf16(np.ones(192)))
    write(folder, draft)
