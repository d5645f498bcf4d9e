import json
from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft, load, write_raw


def make(folder: Path) -> None:
    good_draft(folder)
    header, data = load(folder / WEIGHTS)
    write_raw(folder / WEIGHTS, b"\xef\xbb\xbf" + json.dumps(header).encode(), data)
