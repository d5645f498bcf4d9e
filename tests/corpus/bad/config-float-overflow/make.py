import json
from pathlib import Path

from tests.corpus.kit import config, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "config.json").write_text(json.dumps(config()).replace("10000.0", "1e999"))
