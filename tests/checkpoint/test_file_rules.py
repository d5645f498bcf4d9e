"""The rules about files: their documentation, and those that need a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.corpus.kit import good_draft
from zoo.checkpoint.folder import open_checkpoint
from zoo.results import Finding, Severity, Where
from zoo.rules import files, hostile  # noqa: F401 - register the codes
from zoo.rules.registry import RULES
from zoo.rules.subject import Subject

OURS = sorted(code for code in RULES if code[0] in "FX" or code in ("C001", "C002", "C003", "C004"))
WARNINGS = {"F140", "F141", "F210", "F211"}
NOTES = {"F004"}
DECLARED = {"model.safetensors": "weights", "config.json": "config"}


@dataclass
class StatedRecipe:
    """The two things that these rules ask of a recipe."""

    checkpoint: SimpleNamespace

    def where(self, pointer: str) -> Where:
        return Where(file="recipe.yaml", pointer=pointer)


def check(code: str, folder: Path, declared: Mapping[str, str] = DECLARED) -> list[Finding]:
    recipe = StatedRecipe(SimpleNamespace(files=dict(declared)))
    subject = SimpleNamespace(recipe=recipe, checkpoint=open_checkpoint(folder, "draft"), reported=())
    return list(RULES[code].check(cast("Subject", subject)))


@pytest.mark.parametrize("code", OURS)
def test_every_code_is_documented_under_the_fixed_headings(code: str) -> None:
    rule = RULES[code]
    assert rule.summary.endswith(".")
    headings = [head for head in rule.sections if head != "Sources"]
    assert headings == ["What it does", "Why is this bad", "Example", "Use instead", "Since"]
    assert all(rule.sections.values())


@pytest.mark.parametrize("code", OURS)
def test_every_code_has_the_severity_that_was_decided(code: str) -> None:
    expected = Severity.WARNING if code in WARNINGS else Severity.NOTE if code in NOTES else Severity.ERROR
    assert RULES[code].severity is expected


def test_a_checkpoint_that_is_as_declared_has_no_finding(tmp_path: Path) -> None:
    good_draft(tmp_path)
    (tmp_path / "README.md").write_text("# Draft")
    assert [finding for code in ("F002", "F003", "F004", "X006") for finding in check(code, tmp_path)] == []


def test_a_declared_file_that_is_missing_points_at_its_line(tmp_path: Path) -> None:
    good_draft(tmp_path)
    (finding,) = check("F002", tmp_path, DECLARED | {"docs/report.pdf": "document"})
    assert finding.where.file == "docs/report.pdf"
    assert finding.related == (Where(file="recipe.yaml", pointer="/checkpoint/files/docs~1report.pdf"),)


@pytest.mark.parametrize(
    "name",
    ["model-old.safetensors", "pytorch_model.bin", "mask_embedding.pt", "below/X.GGUF", "a.pth", "a.ckpt"],
)
def test_weights_that_are_not_declared_are_found(name: str, tmp_path: Path) -> None:
    good_draft(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"")
    (finding,) = check("F003", tmp_path)
    assert finding.where.file == name
    assert check("F004", tmp_path) == []


def test_weights_that_are_declared_as_something_else_are_found(tmp_path: Path) -> None:
    good_draft(tmp_path)
    (finding,) = check("F003", tmp_path, DECLARED | {"model.safetensors": "document"})
    assert "declares it as document" in finding.message
    assert finding.related[0].pointer == "/checkpoint/files/model.safetensors"


def test_any_other_file_that_is_not_declared_is_noted(tmp_path: Path) -> None:
    good_draft(tmp_path)
    (tmp_path / "training_args.json").write_text("{}")
    (finding,) = check("F004", tmp_path)
    assert finding.where.file == "training_args.json"


@pytest.mark.parametrize("name", ["modeling.py", "below/Config.PY", "kernel.so", "demo.ipynb"])
def test_code_is_found_whether_declared_or_not(name: str, tmp_path: Path) -> None:
    good_draft(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    (finding,) = check("X006", tmp_path, DECLARED | {name: "document"})
    assert finding.where.file == name


def test_auto_map_is_found_with_its_place(tmp_path: Path) -> None:
    good_draft(tmp_path, text_config={"layers": [{"auto_map": {}}]})
    (finding,) = check("X007", tmp_path)
    assert finding.where.pointer == "/text_config/layers/0/auto_map"
