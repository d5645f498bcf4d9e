import json
from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft, load, write_raw


def make(folder: Path) -> None:
    good_draft(folder)
    header, data = load(folder / WEIGHTS)
    text = json.dumps(header)
    write_raw(folder / WEIGHTS, text + " " * (-(8 + len(text)) % 4096), data, align=False)
