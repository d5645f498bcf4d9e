"""``zoo engines``: what it lists, shows and writes, and how it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Ran
from tests.engines import releases
from zoo.engines.options import from_json, snapshots

Run = Callable[..., Ran]


def test_list_names_every_version_with_its_counts(run_zoo: Run) -> None:
    ran = run_zoo("engines", "list")
    assert ran.status == 0
    assert all("==".join(pin) in ran.out for pin in snapshots())
    assert "420 options, 433 names, 23 deprecated" in ran.out
    document = json.loads(run_zoo("engines", "list", "--format", "json").out)
    counts = {each["version"]: each["counts"]["names"] for each in document["engines"]}
    assert (counts["0.5.14"], counts["0.5.23"]) == (433, 559)


def test_show_lists_all_flags_or_explains_one(run_zoo: Run) -> None:
    ran = run_zoo("engines", "show", "sglang==0.5.14")
    assert ran.status == 0
    assert len(ran.out.splitlines()) == 420
    ran = run_zoo("engines", "show", "sglang==0.5.14", "--tp")
    assert ran.status == 0
    assert "--tp-size, --tensor-parallel-size  (SGLang 0.5.14)" in ran.out
    assert "abbreviates" in ran.out
    text = run_zoo("engines", "show", "--format", "json", "sglang==0.5.23", "--tool-call-parser").out
    (option,) = json.loads(text)["options"]
    assert "kimi_k3" in option["choices"]


def test_show_says_what_is_near_an_unknown_flag_and_what_an_ambiguous_one_may_be(run_zoo: Run) -> None:
    ran = run_zoo("engines", "show", "sglang==0.5.14", "--speculative-dflash-blocksize")
    assert ran.status == 2
    assert "--speculative-dflash-block-size" in ran.err
    ran = run_zoo("engines", "show", "sglang==0.5.14", "--speculative-draft")
    assert ran.status == 2
    assert "--speculative-draft-model-path" in ran.err
    ran = run_zoo("engines", "show", "sglang==0.4")
    assert ran.status == 2
    assert "known: sglang==0.5.14" in ran.err


def test_snapshot_writes_a_file_that_reads_back(run_zoo: Run, tmp_path: Path) -> None:
    release = releases.wheel(tmp_path / "sglang-1.0.whl", releases.SGLANG_DATACLASS)
    out = tmp_path / "flags.json"
    ran = run_zoo("engines", "snapshot", "sglang", release, "--out", out)
    assert ran.status == 0, ran.err
    held = from_json(json.loads(out.read_text()), "flags.json")
    assert (held.version, len(held.options)) == ("1.0", 11)
    assert run_zoo("engines", "snapshot", "sglang", release).out == out.read_text()


def test_an_unknown_layout_is_one_line_and_status_2(run_zoo: Run, tmp_path: Path) -> None:
    source = {"sglang/srt/server_args.py": "class Arguments: ..."}
    release = releases.folder(tmp_path, releases.SGLANG_DATACLASS | source)
    ran = run_zoo("engines", "snapshot", "sglang", release)
    assert ran.status == 2
    assert ran.out == ""
    assert "sglang/srt/server_args.py: there is no class ServerArgs" in ran.err
