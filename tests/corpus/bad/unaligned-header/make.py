from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft, header_bytes, load, write_raw


def make(folder: Path) -> None:
    good_draft(folder)
    header, data = load(folder / WEIGHTS)
    raw = header_bytes(header)[8:] + b" "
    write_raw(folder / WEIGHTS, raw, data, align=False)
