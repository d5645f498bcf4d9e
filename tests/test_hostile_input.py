"""Seeded type confusion in config, training manifest and recipe: verify always answers with a report."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import kit
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo

ROUNDS = 60
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 8, 8.0, 1e308, 2**63, 2**200, "", "8", "x" * 300, "\u202e"),
    *([], [1], [[]], {}, {"a": 1}, {"rope_type": "yarn"}, float("nan"), "unknown", ["0"], [True]),
    *("DFlashDraftModel", ["DFlashDraftModel"], ["Qwen3ForCausalLM", "DFlashDraftModel"]),
]
KEYS = "a.b x/y text_config rope_parameters rope_scaling block_size mask_token layer_types".split()
YAML = (
    'null [] {} -1 1e400 "\\u202e" {a: b} [1,2] unknown !!x *a "x" true 99999999999999999999999 0.5 .'.split()
)


def mutated(document: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A copy with one to three values replaced, removed or added, anywhere in it."""
    whole = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        node: Any = whole
        while isinstance(node, dict) and node:
            key = rng.choice(list(node))
            if isinstance(node[key], dict) and node[key] and rng.random() < 0.5:
                node = node[key]
                continue
            if rng.random() < 0.2:
                del node[key]
            else:
                node[rng.choice(KEYS) if rng.random() < 0.1 else key] = rng.choice(VALUES)
            break
    return whole


def with_a_line_changed(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    index = rng.randrange(len(lines))
    key, colon, _ = lines[index].partition(":")
    lines[index] = f"{key}: {rng.choice(YAML)}" if colon else lines[index]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_no_value_anywhere_ends_in_a_crash(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    draft, recipe = tmp_path / "draft", tmp_path / "recipes" / "draft.yaml"
    kit.good_draft(draft)
    kit.good_recipe(draft)
    kit.training_manifest(draft)
    witness = tmp_path / "recipes" / "draft.training.json"
    manifest, text = json.loads(witness.read_text()), recipe.read_text()
    zoo = find_zoo(tmp_path)
    refused = 0
    for _ in range(ROUNDS):
        config = mutated(kit.config(), rng)
        (draft / "config.json").write_text(json.dumps(config))
        witness.write_text(json.dumps(mutated(manifest, rng) if rng.random() < 0.4 else manifest))
        recipe.write_text(with_a_line_changed(text, rng) if rng.random() < 0.4 else text)
        report = verify_recipe(zoo, "draft", checkpoint=str(draft)).report
        json.dumps(report.as_json(), allow_nan=False)
        verify_source(str(draft)).report.as_json()
        refused += report.exit_status == 1
    assert refused > ROUNDS * 0.9
