import json
from pathlib import Path

from tests.corpus.kit import caveat, edit_config, good_draft, good_recipe, yarn


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    yarn(folder)
    scaling = json.loads((folder / "config.json").read_text())["rope_scaling"]
    edit_config(folder, rope_theta=None, rope_scaling=scaling, rope_parameters={"rope_theta": 10000.0})
    caveat(folder, "E001")
