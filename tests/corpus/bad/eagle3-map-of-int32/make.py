from pathlib import Path

import numpy as np

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    _, shape, data = draft.tensors["d2t"]
    draft.tensors["d2t"] = ("I32", shape, np.frombuffer(data, "<i8").astype("<i4").tobytes())
    write(folder, draft)
