"""What people see: text, Markdown and JSON of a diff, whatever the two sides hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran
from tests.corpus.kit import WEIGHTS, draft_tensors, edit_config, good_draft, renamed, save
from zoo.diff import markdown, text
from zoo.diff.compare import compare
from zoo.diff.model import FileFact, Form, Numbers, Side, TensorChange
from zoo.diff.values import finite
from zoo.schemas import validator

Run = Callable[..., Ran]
HOSTILE = "\x1b[31mred\u202e</td><script>x</script>|`**[a](http://b)\n# head\n| cell |"


@pytest.fixture
def tuned(tmp_path: Path) -> tuple[Path, Path]:
    """A draft and a fine-tune of it: one tensor trained, one key changed, layer 0 renamed."""
    good_draft(tmp_path / "base")
    good_draft(tmp_path / "tuned")
    renamed(tmp_path / "tuned", lambda name: name.replace("layers.0.", "midlayer."))
    edit_config(tmp_path / "tuned", block_size=16)
    tensors = draft_tensors()
    tensors["norm.weight"] = draft_tensors(seed=1)["norm.weight"]
    save(tmp_path / "base" / WEIGHTS, tensors)
    return tmp_path / "base", tmp_path / "tuned"


def test_the_text_says_what_changed_and_how_much(run_zoo: Run, tuned: tuple[Path, Path]) -> None:
    ran = run_zoo("diff", *tuned, "--deep")
    assert ran.status == 1
    assert ran.err == ""
    for line in (
        f"A  {tuned[0]}: 25 tensors, BF16, 148,352 bytes",
        "config keys that engines read",
        "  block_size  8 -> 16",
        "  layers.0.mlp.up_proj.weight -> midlayer.mlp.up_proj.weight",
        "  1 of 25 compared tensors changed",
        "unchanged tensors, byte for byte",
        "different: 14 differences at deep level",
    ):
        assert line in ran.out.splitlines()
    assert re.search(
        r"^  0\.0\d+  norm\.weight  \(at most 0\.\d+, \d+ of 64 elements\)$", ran.out, re.MULTILINE
    )


def test_the_markdown_has_a_table_for_each_part(run_zoo: Run, tuned: tuple[Path, Path]) -> None:
    ran = run_zoo("diff", *tuned, "--deep", "--format", "markdown")
    assert ran.status == 1
    assert ran.out.startswith("**different: 14 differences at deep level**\n")
    assert "| `block_size` | `8` | `16` |" in ran.out
    assert "| `layers.0.mlp.up_proj.weight` | `midlayer.mlp.up_proj.weight` |" in ran.out
    assert "1 of 25 tensors changed" in ran.out
    assert "Unchanged, byte for byte: `fc.weight`" in ran.out


def test_the_same_is_said_in_one_line(run_zoo: Run, tuned: tuple[Path, Path]) -> None:
    ran = run_zoo("diff", tuned[0], tuned[0])
    assert ran.status == 0
    assert ran.out.splitlines()[-1] == (
        "no difference at header level; the content of 1 file of one size was not compared "
        "(zoo diff --deep reads it)"
    )
    assert run_zoo("diff", tuned[0], tuned[0], "--deep").out.splitlines()[-1] == "no difference at deep level"


def many(count: int) -> Any:
    """Two sides that differ in everything, ``count`` times, with names from hell."""
    form = Form("BF16", (2,), 4)
    facts = {str(i) + HOSTILE: HOSTILE * 20 for i in range(count)}
    sides = [
        Side(
            name=HOSTILE + side,
            kind="recipe",
            facts={"resolved": {side + key: value for key, value in facts.items()}},
            config={side + str(i): float("nan") for i in range(count)},
            tensors={f"{side}{i}{HOSTILE}": form for i in range(count)}
            | {f"t{i}{HOSTILE}": form for i in range(count)},
            metadata={side + HOSTILE: HOSTILE},
            files={f"{side}{i}{HOSTILE}": FileFact(i) for i in range(count)},
            missing={"files": HOSTILE},
        )
        for side in ("a", "b")
    ]
    names = [f"t{i}{HOSTILE}" for i in range(count)]
    tensors = [TensorChange(n, n, "BF16", "BF16", 2, i % 2 == 0, 2, 0.5, 1.0, 0) for i, n in enumerate(names)]
    return compare(*sides, numbers=Numbers(tuple(tensors), 0.5, 8))


@pytest.mark.parametrize("count", [1, 5000])
def test_whatever_the_sides_hold_the_markdown_is_short_and_inert(count: int) -> None:
    shown = markdown.render(many(count))
    assert len(shown) < 65_536
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    without_code = re.sub(r"(`+)[^`].*?[^`]?\1", "", shown)
    assert "<script" not in without_code.replace("\\<", "")
    assert "](http" not in without_code.replace("\\]", "")
    assert not any(line.startswith("# ") for line in shown.splitlines())
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 4}


def test_nobody_is_notified_by_a_name() -> None:
    name, form = "z|@octocat #12", Form("BF16", (2,), 4)
    sides = [
        Side(name=f"{side} @octocat", kind="folder", config={name: side}, tensors={name + side: form},
             missing={"files": "see @octocat (#12)"})
        for side in ("a", "b")
    ]  # fmt: skip
    shown = markdown.render(compare(sides[0], sides[1]))
    assert "| `z¦@octocat #12` |" in shown
    assert "| `z¦@octocat #12a` |" in shown
    without_code = re.sub(r"`[^`]*`", "", shown)
    assert "octocat" in without_code
    assert not re.search(r"@\w|#\d", without_code.replace("&#8203;", "\u200b"))


def test_whatever_the_sides_hold_the_text_is_short_and_printable() -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text.render(many(5000)))
    assert len(shown.splitlines()) < 300
    assert all(line.isprintable() for line in shown.splitlines())


def test_whatever_the_sides_hold_the_json_is_json() -> None:
    document = json.loads(json.dumps(finite(many(50).as_json()), allow_nan=False))
    validator("zoo-diff-1").validate(document)
    assert len(document["inventory"]["only_a"]) == 50
