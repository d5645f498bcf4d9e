from pathlib import Path

from tests.corpus.families import dflash2, write


def make(folder: Path) -> None:
    draft = dflash2()
    del draft.tensors["layers.1.attention_conv.base_kernel"]
    write(folder, draft)
