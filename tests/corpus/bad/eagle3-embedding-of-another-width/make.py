from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3(embed=True)
    dtype, (rows, width), data = draft.tensors["embed_tokens.weight"]
    half = data[: len(data) // 2]
    draft.tensors["embed_tokens.weight"] = (dtype, (rows, width // 2), half)
    write(folder, draft)
