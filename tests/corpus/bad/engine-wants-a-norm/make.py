import json
from pathlib import Path

from tests.corpus.families import deeper, eagle3, on_vllm, recipe, write


def make(folder: Path) -> None:
    draft = deeper(eagle3(layer="layers.0"))
    write(folder, draft)
    recipe(folder, draft)
    on_vllm(folder, caveats=["E040"])
    stated = folder.parent / "recipes" / "draft.yaml"
    described = json.loads(stated.read_text())
    described["waivers"].append({"code": "E040", "reason": "another case", "until": "9999-12-31"})
    stated.write_text(json.dumps(described))
