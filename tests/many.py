"""A zoo of many recipes, each with a draft of its own of a few kB."""

from __future__ import annotations

import shutil
from pathlib import Path

import zoo.cli

_SMALLER = {
    "hidden_size: 128": "hidden_size: 16",
    "num_attention_heads: 8": "num_attention_heads: 2",
    "num_key_value_heads: 2": "num_key_value_heads: 1",
    "head_dim: 64": "head_dim: 8",
    "intermediate_size: 256": "intermediate_size: 32",
    "source: unknown": "source: ./drafts/draft-0000",
}


def names(count: int) -> list[str]:
    return [f"draft-{index:04d}" for index in range(count)]


def make_many(root: Path, count: int) -> None:
    """Make a zoo in ``root`` with the recipes ``names(count)``, each with a stand-in in ``drafts/NAME``."""
    assert zoo.cli.run(["init", str(root), "--recipe", "draft-0000"]) == 0
    recipe, target = (
        root / "recipes" / "draft-0000.yaml",
        root / "recipes" / "targets" / "example-target.yaml",
    )
    for file in (recipe, target):
        text = file.read_text()
        for old, new in _SMALLER.items():
            text = text.replace(old, new)
        file.write_text(text)
    draft = root / "drafts" / "draft-0000"
    assert zoo.cli.run(["--zoo", str(root), "standin", "draft-0000", "--out", str(draft)]) == 0
    for name in names(count)[1:]:
        (root / "recipes" / f"{name}.yaml").write_text(recipe.read_text().replace("draft-0000", name))
        shutil.copytree(draft, root / "drafts" / name)
