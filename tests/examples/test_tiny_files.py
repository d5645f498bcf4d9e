"""The tiny pair as it is committed: small, and what its recipe and training manifest say it is."""

from __future__ import annotations

import json
import subprocess

from tests.conftest import REPOSITORY
from zoo.digests import sha256_file
from zoo.recipe.load import usable_recipe
from zoo.rules import Level
from zoo.verify import verify_recipe
from zoo.workspace import Zoo

TINY = REPOSITORY / "examples" / "tiny"


def test_tiny_ft_passes_every_check_down_to_the_last_byte(here: Zoo) -> None:
    report = verify_recipe(here, "tiny-ft", level=Level.DEEP).report
    assert report.exit_status == 0
    assert report.findings == ()
    # Only a hub states the sha256 of its files, and a recipe that asks for no smoke test has none.
    asked = usable_recipe(here, "tiny-ft").gates
    unasked = [] if "smoke" in asked else ["S001"]
    assert [result.code for result in report.not_checked] == ["F220", *unasked]


def test_the_training_manifest_names_the_files_that_trained_it(here: Zoo) -> None:
    manifest = json.loads((REPOSITORY / "recipes" / "tiny-ft.training.json").read_text())
    for entry in manifest["inputs"]:
        assert sha256_file(TINY / entry["name"]) == entry["sha256"], (
            f"{entry['name']} changed since the training run: run examples/tiny/train.py again"
        )


def test_claims_of_the_recipe_are_those_of_its_evidence(here: Zoo) -> None:
    recipe = usable_recipe(here, "tiny-ft")
    assert {claim.source for claim in recipe.claims} == {"measured"}


def test_the_repository_stays_small() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=False)
    files = [REPOSITORY / name for name in listed.stdout.decode().split("\0") if name]
    assert sum(file.stat().st_size for file in files if file.is_file()) < 12 * 1024 * 1024
