"""``zoo verify --engine``: the matrix, the words, and the key ``engines`` of the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from jsonschema import Draft202012Validator

from tests.conftest import REPOSITORY, Ran
from tests.corpus.families import dflash2, domino, write
from tests.corpus.kit import good_draft
from zoo.schemas import schema

Run = Callable[..., Ran]


def test_the_matrix_of_all_engines_is_information(tmp_path: Path, run_zoo: Run) -> None:
    write(tmp_path / "draft", dflash2())
    ran = run_zoo("verify", tmp_path / "draft", "--engine", "all")
    assert ran.status == 0
    assert "SGLang 0.5.14  SGLang 0.5.23  vLLM 0.33.0" in ran.out
    row = next(line for line in ran.out.splitlines() if line.startswith("the candidate selector"))
    assert row.split()[3:] == ["refused", "read", "read"]
    assert "SGLang 0.5.14 refuses to start: it does not know the architecture DFlash2DraftModel." in ran.out
    assert "vLLM 0.33.0 reads all 36 tensors" in ran.out


def test_a_named_engine_judges_a_folder(tmp_path: Path, run_zoo: Run) -> None:
    draft = domino()
    draft.config["architectures"] = ["DFlashDraftModel"]
    write(tmp_path / "draft", draft)
    ran = run_zoo("verify", tmp_path / "draft", "--engine", "sglang==0.5.14", "--engine", "sglang==0.5.23")
    assert ran.status == 1
    assert "error E020" in ran.out
    assert "SGLang 0.5.14 will ignore 4 tensors of this file: the Domino projector." in ran.out
    assert "SGLang 0.5.23 reads all 29 tensors" in ran.out


def test_a_recipe_without_its_checkpoint_stands_in(run_zoo: Run) -> None:
    ran = run_zoo("--zoo", REPOSITORY, "verify", "kimi-ft-v3", "--engine", "vllm==0.33.0")
    assert ran.status == 2
    assert "those that the recipe implies" in ran.out
    assert (
        "vLLM 0.33.0 reads all 69 tensors; embed_tokens and lm_head are borrowed from the target." in ran.out
    )


def test_the_report_holds_the_readings(tmp_path: Path, run_zoo: Run) -> None:
    good_draft(tmp_path / "draft")
    ran = run_zoo("verify", tmp_path / "draft", "--engine", "all", "--format", "json")
    report = json.loads(ran.out)
    Draft202012Validator(schema("zoo-report-1")).validate(report)
    assert [(each["engine"], each["version"]) for each in report["engines"]] == [
        ("sglang", "0.5.14"),
        ("sglang", "0.5.23"),
        ("vllm", "0.33.0"),
    ]
    assert report["engines"][0]["tensors"]["fc.weight"] == "read"
    assert report["engines"][0]["layer_ids"] == {"after": [0, 1, 2], "guessed": False}
    plain = json.loads(run_zoo("verify", tmp_path / "draft", "--format", "json").out)
    assert "engines" not in plain


def test_a_folder_that_no_engine_can_be_asked_about(tmp_path: Path, run_zoo: Run) -> None:
    (tmp_path / "draft").mkdir()
    ran = run_zoo("verify", tmp_path / "draft", "--engine", "sglang==0.5.14")
    assert ran.status != 0
    assert "no engine can be asked" in ran.out


def test_an_engine_that_nobody_read_is_bad_usage(tmp_path: Path, run_zoo: Run) -> None:
    good_draft(tmp_path / "draft")
    ran = run_zoo("verify", tmp_path / "draft", "--engine", "sglang==0.5.20")
    assert ran.status == 2
    assert "known are sglang==0.5.14, sglang==0.5.23, vllm==0.33.0" in ran.err
