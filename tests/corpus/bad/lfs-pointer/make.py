from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / WEIGHTS).write_bytes(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 6958554112\n"
    )
