from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    dtype, _, data = draft.tensors["confidence_head.proj.weight"]
    draft.tensors["confidence_head.proj.weight"] = (dtype, (1, 64), data[:128])
    write(folder, draft)
