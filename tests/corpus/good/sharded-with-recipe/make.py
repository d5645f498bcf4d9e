import json
from pathlib import Path

from tests.corpus.kit import INDEX, WEIGHTS, edit_recipe, good_recipe, sharded_draft


def make(folder: Path) -> None:
    sharded_draft(folder)
    good_recipe(folder)
    shards = {f"model-0000{number}-of-00002.safetensors": "weights" for number in (1, 2)}
    files = {**shards, INDEX: "index", "config.json": "config"}
    edit_recipe(folder, json.dumps({WEIGHTS: "weights", "config.json": "config"}), json.dumps(files))
