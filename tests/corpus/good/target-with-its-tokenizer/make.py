import hashlib
from pathlib import Path

from tests.corpus.beside import target
from tests.corpus.kit import edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    raw = (target(folder) / "tokenizer.json").read_bytes()
    sha256 = hashlib.sha256(raw).hexdigest()
    edit_recipe(folder, "tokenizer: {", f"tokenizer: {{sha256: {sha256}, ", "recipes/targets/big.yaml")
