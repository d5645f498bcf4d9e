import json
from pathlib import Path

from tests.corpus.families import deeper, eagle3, recipe, write

COMMAND = '--speculative-config \'{"model": "{draft}", "method": "eagle3", "num_speculative_tokens": 3}\''


def make(folder: Path) -> None:
    draft = deeper(eagle3(layer="layers.0"))
    write(folder, draft)
    recipe(folder, draft)
    path = folder.parent / "recipes" / "profiles" / "one-gpu.yaml"
    profile = json.loads(path.read_text())
    profile |= {"engine": "vllm==0.33.0", "command": "vllm serve", "args": ["{target}", COMMAND]}
    path.write_text(json.dumps(profile))
    stated = folder.parent / "recipes" / "draft.yaml"
    stated.write_text(json.dumps(json.loads(stated.read_text()) | {"caveats": []}))
