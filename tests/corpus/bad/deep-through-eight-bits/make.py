from pathlib import Path

import numpy as np

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder)
    tensors = draft_tensors()
    dtype, shape, data = tensors["fc.weight"]
    coarse = np.frombuffer(data, "<u2") & 0xFFF0
    tensors["fc.weight"] = (dtype, shape, coarse.tobytes())
    save(folder / WEIGHTS, tensors)
