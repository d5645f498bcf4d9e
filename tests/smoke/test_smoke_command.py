"""``zoo smoke`` from end to end, with the reference engine on a CPU: real processes, real acceptances."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran
from tests.smoke.reference_kit import Engine
from zoo.evidence import load_evidence
from zoo.recipe.load import usable_recipe
from zoo.results import Outcome
from zoo.schemas import validator
from zoo.workspace import Zoo, find_zoo

pytestmark = pytest.mark.torch
PROMPTS = "prompts/few.jsonl"
# Six prompts give some fifty verify steps: enough for the replay at a margin of a tenth, in a few seconds.
GATE = f"tier: cpu, prompts: {PROMPTS}, max_new_tokens: 48, concurrency: 2, position_margin: 0.12"
# Three are enough for a draft that accepts next to nothing.
FEWER = 3


@pytest.fixture
def served_zoo(here: Zoo, tmp_path: Path) -> Zoo:
    """A zoo with the tiny pair, whose recipe asks for tier cpu."""
    root = tmp_path / "zoo"
    tiny = "examples/tiny"
    shutil.copytree(here.recipes, root / "recipes")
    for folder in ("target", "base", "tiny-ft"):
        shutil.copytree(here.root / tiny / folder, root / tiny / folder)
    (root / "zoo.toml").write_text("")
    file = root / "recipes" / "tiny-ft.yaml"
    file.write_text(re.sub(r"gates:\n(  .*\n)+", f"gates:\n  smoke: {{{GATE}}}\n", file.read_text()))
    lines = (here.recipes / "prompts" / "tiny-held-out.jsonl").read_text().splitlines()
    (root / "recipes" / PROMPTS).write_text("\n".join(lines[:2] + lines[12:16]) + "\n")
    return find_zoo(root)


@pytest.fixture
def few(served_zoo: Zoo) -> None:
    """Short answers to few prompts."""
    file = served_zoo.recipes / PROMPTS
    file.write_text("\n".join(file.read_text().splitlines()[:FEWER]) + "\n")
    recipe = served_zoo.recipes / "tiny-ft.yaml"
    recipe.write_text(recipe.read_text().replace("max_new_tokens: 48", "max_new_tokens: 24"))


@pytest.fixture
def smoke(served_zoo: Zoo, run_zoo: Callable[..., Ran]) -> Callable[..., Ran]:
    return lambda *args: run_zoo("--zoo", served_zoo.root, "smoke", "tiny-ft", *args)


def outcomes(document: Any) -> dict[str, str]:
    record = document.get("record", document)
    return {each["check"]: each["outcome"] for each in record["results"]}


def test_the_trained_pair_passes_a_control_beside_it_is_caught_and_the_record_answers_the_gate(
    smoke: Callable[..., Ran], served_zoo: Zoo, run_zoo: Callable[..., Ran], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ran = smoke("--with-control", "zero-fc", "--out", out, "--write", "--format", "json")
    assert ran.status == 0, ran.out + ran.err
    document = json.loads(ran.out)
    validator("zoo-smoke-1").validate(document)
    found = outcomes(document)
    for name in document["record"]["settings"]["require"].split():
        assert found[f"gate/{name}"] == "passed", name
    assert found["control/zero-fc"] == "passed"
    measured = {each["check"]: each["measured"] for each in document["record"]["results"]}
    replayed = measured["gate/replayed"]
    assert (
        replayed["accept_length"] == replayed["replayed_accept_length"] > 4
    )  # float32: not one count differs
    assert measured["gate/lossless"]["identical"] == 6
    assert "accept-length" in measured["control/zero-fc"]["caught_by"]
    assert document["record"]["engine"]["name"] == "reference"
    assert measured["target"]["weights_digest"] == "content"
    assert str(tmp_path) not in ran.out

    # What is kept: the logs, the report, and conversations that zoo trace can record.
    kept = {path.name for path in out.iterdir()}
    assert kept == {"server.log", "target.log", "report.json", "served.jsonl", "control-zero-fc"}
    lines = [json.loads(line) for line in (out / "served.jsonl").read_text().splitlines()]
    assert [len(line["continuation_ids"]) for line in lines] == [48] * 6

    # The evidence counts, the card says what ran, and the same record is no answer for a GPU.
    recipe = usable_recipe(served_zoo, "tiny-ft")
    (record,), problems = load_evidence(served_zoo, recipe)
    assert (record.stale, record.outcome, problems) == ("", Outcome.PASSED, ())
    verified = run_zoo("--zoo", served_zoo.root, "verify", "tiny-ft", "--deep")
    assert "S001" not in verified.out
    card = run_zoo("--zoo", served_zoo.root, "card", "tiny-ft", "--stdout").out
    assert "### Served by the reference engine of draft-zoo on a CPU" in card
    assert "This is no inference engine" in card
    assert "| Served | reference engine on a CPU, no inference engine | passed |" in card
    assert "| zero-fc | seen |" in card
    file = served_zoo.recipes / "tiny-ft.yaml"
    file.write_text(file.read_text().replace("tier: cpu", "tier: 1gpu"))
    dry = run_zoo("--zoo", served_zoo.root, "release", "tiny-ft", "--to", f"dir:{tmp_path / 'published'}")
    assert "it ran on tier cpu, not 1gpu" in dry.out + dry.err


def shuffled(source: Path, folder: Path) -> Path:
    """A copy of a draft with the elements of every tensor in another order: no number of it looks wrong."""
    import torch
    from safetensors.torch import load_file, save_file

    shutil.copytree(source, folder)
    torch.manual_seed(0)
    tensors = {
        name: each.flatten()[torch.randperm(each.numel())].reshape(each.shape)
        for name, each in load_file(folder / "model.safetensors").items()
    }
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.mark.usefixtures("few")
def test_a_dead_draft_fails_and_is_lossless_all_the_same(
    smoke: Callable[..., Ran], served_zoo: Zoo, tmp_path: Path
) -> None:
    dead = shuffled(served_zoo.root / "examples/tiny/tiny-ft", tmp_path / "dead")
    ran = smoke("--checkpoint", dead, "--format", "json")
    assert ran.out, ran.err
    found = outcomes(json.loads(ran.out))
    assert ran.status == 1
    assert found["gate/accept-length"] == "failed"
    assert found["gate/lossless"] == found["gate/draft-loaded"] == found["gate/shutdown"] == "passed"


def other_config(folder: Path, **values: Any) -> None:
    file = folder / "config.json"
    config = json.loads(file.read_text())
    for key, value in values.items():
        holder = (
            config
            if key in config
            else next(each for each in config.values() if isinstance(each, dict) and key in each)
        )
        holder[key] = value
    file.write_text(json.dumps(config))


def one_layer_of_zeros(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    for name, each in tensors.items():
        if name.startswith("layers.1.") and each.dim() == 2:
            tensors[name] = each * 0
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: other_config(folder, target_layer_ids=[1, 2, 3]), "[1, 2, 3]"),
        (lambda folder: other_config(folder, rope_theta=100), "100"),
        (one_layer_of_zeros, "zero"),
    ],
    ids=["other layers", "another rope", "a layer of zeros"],
)
def test_a_draft_that_is_not_its_recipes_is_not_served(
    smoke: Callable[..., Ran], served_zoo: Zoo, tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    folder = tmp_path / "other"
    shutil.copytree(served_zoo.root / "examples/tiny/tiny-ft", folder)
    change(folder)
    ran = smoke("--checkpoint", folder)
    assert ran.status == 1
    assert "tiny-ft contradicts its recipe: " in ran.err
    assert said in ran.err
    assert f"zoo verify tiny-ft --checkpoint {folder} --deep" in ran.err
    assert "start the server" not in ran.err


def test_a_record_of_a_failure_or_one_that_is_refused_does_not_stop_a_new_run(served_zoo: Zoo) -> None:
    from zoo.evidence import evidence_folder
    from zoo.smoke.verified import verified
    from zoo.sources import Sources

    recipe = usable_recipe(served_zoo, "tiny-ft")
    folder = evidence_folder(served_zoo, recipe)
    folder.mkdir(parents=True)
    (folder / "smoke-reference.json").write_text("{}")
    _, problems = load_evidence(served_zoo, recipe)
    assert {each.code for each in problems} == {"K005"}
    checkpoint, digest = verified(served_zoo, recipe, None, Sources())
    assert checkpoint.source == "./examples/tiny/tiny-ft"
    assert re.fullmatch("[0-9a-f]{64}", digest)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("control", ["drop-q", "prefix"])
def test_a_control_that_is_caught_is_exit_0_and_leaves_no_evidence(
    smoke: Callable[..., Ran], served_zoo: Zoo, control: str
) -> None:
    ran = smoke("--control", control)
    assert ran.status == 0, ran.out + ran.err
    assert f"ok  caught: {control}" in ran.out
    assert not (served_zoo.root / "release").exists()


@pytest.mark.usefixtures("few")
def test_another_block_size_fails_the_probe_of_the_block(smoke: Callable[..., Ran]) -> None:
    ran = smoke("--extra", "--speculative-num-draft-tokens", "--extra", "4", "--format", "json")
    record = json.loads(ran.out)["record"]
    assert ran.status == 1
    assert outcomes(record)["gate/block-size"] == "failed"
    assert record["settings"]["extra"] == "--speculative-num-draft-tokens 4"


def test_a_running_server_is_asked_and_another_draft_is_known_by_its_counts(
    smoke: Callable[..., Ran], served_zoo: Zoo, engine: Callable[..., Engine], tmp_path: Path
) -> None:
    draft = served_zoo.root / "examples/tiny/tiny-ft"
    ran = smoke("--attach", engine(draft).url, "--format", "json")
    assert ran.status == 0, ran.out + ran.err
    document = json.loads(ran.out)
    validator("zoo-smoke-1").validate(document)
    assert set(outcomes(document).values()) == {"passed"}
    dead = engine(shuffled(draft, tmp_path / "dead"))
    assert smoke("--attach", dead.url).status == 1
    assert smoke("--attach", engine(None).url).status == 1  # the target alone
    gone = smoke("--attach", "http://127.0.0.1:9")
    assert gone.status == 2
    assert "cannot be reached" in gone.err


@pytest.mark.usefixtures("few")
def test_a_server_that_cannot_start_says_why_first_and_leaves_only_its_log(
    smoke: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    ran = smoke("--extra", "--speculative-dflash-blocksize", "--extra", "8")
    assert ran.status in (1, 2)
    assert "--speculative-dflash-blocksize" in ran.err.splitlines()[-2]
    (work,) = tmp_path.glob("zoo-smoke-*")
    assert [path.name for path in work.iterdir()] == ["server.log"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--control", "prefix", "--write"], "a broken draft gives no evidence"),
        (["--attach", "http://127.0.0.1:9", "--write"], "--write and --attach do not go together"),
        (["--tier", "gpu"], "a tier is cpu or Ngpu"),
        (["--tier", "8gpu"], "declares no profile for tier 8gpu"),
        (["--target", "nowhere"], "there is no folder"),
        (["--target", "examples/tiny/base"], "config.json of"),
        (["--checkpoint", "./nowhere"], "nowhere"),
    ],
)
def test_what_does_not_fit_is_said_before_a_server_starts(
    smoke: Callable[..., Ran], served_zoo: Zoo, monkeypatch: pytest.MonkeyPatch, args: list[str], said: str
) -> None:
    monkeypatch.chdir(served_zoo.root)
    ran = smoke(*args)
    assert ran.status == 2
    assert said in ran.err
    assert "start the server" not in ran.err


def test_without_prompts_nothing_is_served(smoke: Callable[..., Ran], served_zoo: Zoo) -> None:
    file = served_zoo.recipes / "tiny-ft.yaml"
    file.write_text(file.read_text().replace(f"prompts: {PROMPTS}, ", ""))
    ran = smoke()
    assert ran.status == 2
    assert "names no prompts" in ran.err


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_interrupts_leaves_no_server_and_no_file(
    served_zoo: Zoo, tmp_path: Path, number: signal.Signals
) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    command = [sys.executable, "-m", "zoo", "--zoo", str(served_zoo.root), "smoke", "tiny-ft", "--write"]
    child = subprocess.Popen(
        command,
        # torch keeps a cache of its own in the temporary folder, unless told otherwise.
        env={**os.environ, "TMPDIR": str(place), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "torch")},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    for line in child.stderr:
        if line.startswith("greedy:"):
            break
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 128 + number, said
    assert list(place.iterdir()) == []
    assert not (served_zoo.root / "release").exists()
    assert _servers(place) == []


def _servers(place: Path) -> list[str]:
    """The commands of processes that still speak of ``place``; a moment may pass until the last is gone."""
    end = time.monotonic() + 5
    while True:
        found = [
            path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if path.exists() and str(place).encode() in path.read_bytes()
        ]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)
