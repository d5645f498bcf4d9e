"""A zoo of its own for each test of a card: the kimi recipe, copied, so that it can be edited."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from zoo.digests import basis_digest
from zoo.evidence import Engine, Evidence, Result, basis_of, evidence_folder, write_evidence
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.replay import settings as replay_settings
from zoo.results import Outcome
from zoo.smoke import settings as smoke_settings
from zoo.workspace import Zoo, find_zoo

DIGEST = "a" * 64
HISTOGRAM = [30, 20, 10, 5, 5, 5, 5, 20]  # 100 verify steps, 270 correct drafts: accept length 3.7
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture
def kimi_zoo(tmp_path: Path, here: Zoo) -> Zoo:
    root = tmp_path / "zoo"
    shutil.copytree(here.recipes, root / "recipes")
    (root / "zoo.toml").write_text("")
    return find_zoo(root)


@pytest.fixture
def edited(kimi_zoo: Zoo) -> Callable[[Edit], Recipe]:
    """Change the recipe's document with a function, and load it."""

    def edit(change: Edit) -> Recipe:
        path = kimi_zoo.recipes / "kimi-ft-v3.yaml"
        yaml = YAML(typ="safe")
        data = yaml.load(path)
        change(data)
        plain = YAML()
        plain.width = 4096
        plain.dump(data, path)
        return usable_recipe(kimi_zoo, "kimi-ft-v3")

    return edit


@pytest.fixture
def kimi(kimi_zoo: Zoo) -> Recipe:
    return usable_recipe(kimi_zoo, "kimi-ft-v3")


def record(
    recipe: Recipe,
    kind: str = "replay",
    subject: str = "held-out",
    outcome: Outcome = Outcome.PASSED,
    **measured: Any,
) -> Evidence:
    """A consistent record, bound to ``recipe`` and to DIGEST."""
    counts = {"accept_histogram": HISTOGRAM, "verify_steps": 100, "correct_drafts": 270, "accept_length": 3.7}
    inputs = {"sha256": "b" * 64, "about": "held-out conversations", "count": 28}
    asked = {"replay": replay_settings, "smoke": smoke_settings}
    settings = {"temperature": 0} | (asked[kind].settings_of(recipe).as_json() if kind in asked else {})
    reason = "" if outcome is Outcome.PASSED else "below the floor"
    return Evidence(
        kind=kind,
        subject=subject,
        checkpoint_digest=DIGEST,
        basis_digest=basis_digest(recipe, basis_of(recipe, kind, subject, inputs), DIGEST, settings),
        target={"repo": recipe.target.served.path, "revision": "unknown"},
        inputs=inputs,
        settings=settings,
        engine=Engine("sglang", "0.5.14", ("python", "-m", "sglang.launch_server", "{target}", "{draft}")),
        host={"gpus": ["NVIDIA B200"] * 8, "driver": "580.1"},
        tool="draft-zoo 0.1.0",
        started="2026-11-30T10:00:00Z",
        ended="2026-11-30T10:20:00Z",
        results=(Result("accept-length", outcome, reason, {**counts, **measured}),),
    )


def save(zoo: Zoo, recipe: Recipe, evidence: Evidence) -> Path:
    path = evidence_folder(zoo, recipe) / f"{evidence.name}.json"
    write_evidence(path, evidence)
    return path
