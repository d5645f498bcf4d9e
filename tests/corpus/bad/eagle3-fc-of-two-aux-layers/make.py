from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    dtype, _, data = draft.tensors["fc.weight"]
    draft.tensors["fc.weight"] = (dtype, (64, 128), data[: 64 * 128 * 2])
    write(folder, draft)
