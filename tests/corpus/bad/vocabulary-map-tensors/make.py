from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder)
    tensors = draft_tensors() | {"d2t": ("I64", (32,), bytes(256)), "t2d": ("BOOL", (256,), bytes(256))}
    save(folder / WEIGHTS, tensors, {"format": "pt"})
