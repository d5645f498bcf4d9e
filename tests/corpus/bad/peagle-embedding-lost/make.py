from pathlib import Path

from tests.corpus.families import peagle, write


def make(folder: Path) -> None:
    draft = peagle()
    del draft.tensors["embed_tokens.weight"]
    write(folder, draft)
