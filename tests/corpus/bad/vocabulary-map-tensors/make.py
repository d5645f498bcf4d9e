from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder)
    offsets = bytes(8 * 16) + (224).to_bytes(8, "little") * 16
    used = b"\x01" * 16 + bytes(224) + b"\x01" * 16
    tensors = draft_tensors() | {"d2t": ("I64", (32,), offsets), "t2d": ("BOOL", (256,), used)}
    save(folder / WEIGHTS, tensors, {"format": "pt"})
