"""The D rules: each fires on its defect, on nothing else, and not on a good checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.scan import scan_checkpoint
from zoo.checkpoint.writer import header_bytes
from zoo.drafts import TensorSpec
from zoo.results import Finding
from zoo.rules import Level, Subject, run

MATRIX, NORM, BIAS, SCALE = "layers.0.mlp.up_proj.weight", "norm.weight", "layers.0.q_proj.bias", "scale"
SHAPES = {MATRIX: (8, 16), NORM: (16,), BIAS: (8,), SCALE: (1,)}
Numbers = dict[str, "np.ndarray"]


def good() -> Numbers:
    generator = np.random.default_rng(0)
    return {name: generator.standard_normal(shape).astype("<f4") for name, shape in SHAPES.items()}


def check(folder: Path, tensors: Numbers, metadata: dict[str, str] | None = None) -> list[Finding]:
    specs = {name: TensorSpec("F32", numbers.shape) for name, numbers in tensors.items()}
    data = b"".join(numbers.tobytes() for numbers in tensors.values())
    (folder / "model.safetensors").write_bytes(header_bytes(specs, metadata or {}) + data)
    checkpoint = open_checkpoint(folder, "it")
    subject = Subject(recipe=None, checkpoint=checkpoint, scan=scan_checkpoint(checkpoint, checkpoint.files))
    return [
        finding
        for result in run(subject, Level.DEEP)
        if result.code.startswith("D")
        for finding in result.findings
    ]


def test_a_trained_checkpoint_has_no_finding(tmp_path: Path) -> None:
    assert check(tmp_path, good()) == []


def defects() -> Iterator[tuple[str, str, Callable[[Numbers], object], str]]:
    def put(name: str, value: float) -> Callable[[Numbers], object]:
        return lambda tensors: tensors[name].flat.__setitem__(3, value)

    def fill(name: str, value: float) -> Callable[[Numbers], object]:
        return lambda tensors: tensors[name].fill(value)

    yield "D001", MATRIX, put(MATRIX, np.nan), "1 NaN"
    yield "D001", NORM, put(NORM, -np.inf), "1 Inf"
    yield "D001", SCALE, fill(SCALE, np.nan), "1 NaN"
    yield "D002", MATRIX, fill(MATRIX, 0), "is all zero"
    yield "D002", MATRIX, fill(MATRIX, -0.0), "is all zero"
    yield "D002", NORM, fill(NORM, 0), "is all zero"
    yield "D003", MATRIX, fill(MATRIX, 1), "same number"
    yield "D005", NORM, fill(NORM, 1), "same number in all its 16 elements"
    yield "D005", BIAS, fill(BIAS, 0), "same number in all its 8 elements"


@pytest.mark.parametrize(("code", "name", "damage", "said"), list(defects()))
def test_each_rule_fires_on_its_defect_and_names_the_tensor(
    tmp_path: Path, code: str, name: str, damage: Callable[[Numbers], object], said: str
) -> None:
    tensors = good()
    damage(tensors)
    [finding] = check(tmp_path, tensors)
    assert (finding.code, finding.where.tensor, finding.where.file) == (code, name, "model.safetensors")
    assert said in finding.message


def test_one_element_is_never_constant(tmp_path: Path) -> None:
    assert check(tmp_path, good() | {SCALE: np.ones(1, "<f4")}) == []


def test_a_ruined_file_is_reported_in_a_few_lines(tmp_path: Path) -> None:
    tensors = {f"layers.{i}.weight": np.zeros((2, 2), "<f4") for i in range(500)}
    findings = check(tmp_path, tensors)
    assert len(findings) == 10
    assert "(and 490 more like this)" in findings[-1].message


def test_a_stand_in_is_named_by_its_mark_and_the_mark_is_made_printable(tmp_path: Path) -> None:
    [finding] = check(tmp_path, good(), {"draft_zoo_standin": "tiny 1.0.0\x1b[31m"})
    assert finding.code == "D004"
    assert finding.severity == "warning"
    assert "\\x1b" in finding.message
