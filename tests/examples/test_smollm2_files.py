"""The recipe of the SmolLM2 pair, whose weights are elsewhere: what can be checked of it without them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.conftest import REPOSITORY, Ran
from zoo.recipe.load import usable_recipe
from zoo.results import Severity
from zoo.verify import verify_recipe
from zoo.workspace import Zoo

NAME = "smollm2-135m-dflash"


def test_the_recipe_has_no_error_and_a_standin_of_it_none_either(
    here: Zoo, run_zoo: Callable[..., Ran], tmp_path: Path
) -> None:
    assert verify_recipe(here, NAME).report.count(Severity.ERROR) == 0
    folder = tmp_path / "draft"
    assert run_zoo("--zoo", here.root, "standin", NAME, "--out", folder).status == 0
    report = verify_recipe(here, NAME, checkpoint=str(folder)).report
    assert report.exit_status == 0, report.findings
    codes = {finding.code for finding in report.findings if finding.severity is Severity.WARNING}
    assert codes <= {"D004", "R020", "R021", "R025"}  # a stand-in; what nobody knows of it


def test_the_prompts_are_16_of_the_targets_chat_template(here: Zoo) -> None:
    target = usable_recipe(here, NAME).target
    lines = (REPOSITORY / "recipes" / "prompts" / "smollm2-16.jsonl").read_text().splitlines()
    prompts = [json.loads(line)["input_ids"] for line in lines]
    assert len(prompts) == len({tuple(each) for each in prompts}) == 16
    begin, end = target.special_ids["im_start"], target.special_ids["im_end"]
    for ids in prompts:
        assert max(ids) < target.vocab_size
        # System, user, and the assistant's turn that has only begun.
        assert (ids[0], ids.count(begin), ids.count(end)) == (begin, 3, 2)


def test_nothing_of_the_weights_is_in_the_repository() -> None:
    folder = REPOSITORY / "examples" / "smollm2"
    tracked = {path.name for path in folder.iterdir() if path.is_file()}
    assert tracked == {"README.md", "make_target.py"}
