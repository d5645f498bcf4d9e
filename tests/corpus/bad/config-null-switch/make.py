import json
from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "rope_is_neox_style": None}))
