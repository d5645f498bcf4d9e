"""A draft over a trace: the same steps as the reference loop, and drafts told apart where they differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.replay.reference_kit import TINY
from zoo.errors import UsageError
from zoo.evidence import read_evidence
from zoo.replay.acceptance import Counts, pooled
from zoo.replay.reference import NoReferenceError
from zoo.replay.run import Draft, Recorded, Row, run
from zoo.replay.statistics import paired
from zoo.replay.trace import open_trace
from zoo.sources import Sources

pytestmark = pytest.mark.torch
EVIDENCE = REPOSITORY / "release" / "tiny-ft" / "1.0.0" / "evidence"


@pytest.fixture(scope="module")
def recorded(held_out: Path) -> Recorded:
    import torch

    return Recorded.of(open_trace(held_out), "cpu", torch.float32)


@pytest.fixture(scope="module")
def rows(recorded: Recorded) -> dict[str, tuple[Row, ...]]:
    """Both drafts over the whole trace."""
    drafts = {name: Draft.of(Sources().open(str(TINY / name)), recorded) for name in ("base", "tiny-ft")}
    return {
        name: run(draft.made(draft.reading()), recorded, probabilities=True) for name, draft in drafts.items()
    }


def walk(rows: tuple[Row, ...], domain: str) -> Counts:
    return pooled(row.walk for row in rows if row.domain == domain)


@pytest.mark.parametrize("domain", ["agent", "story"])
def test_the_walk_has_the_histogram_of_the_reference_loop(
    rows: dict[str, tuple[Row, ...]], domain: str
) -> None:
    """The committed record is of the loop that runs the target itself (examples/tiny/record.py)."""
    loop, _ = read_evidence(EVIDENCE / "reference-held-out.json", "record")
    assert loop is not None
    theirs = next(each.measured for each in loop.results if each.check == f"{domain}-t0")
    ours = walk(rows["tiny-ft"], domain)
    assert list(ours.histogram) == theirs["accept_histogram"]
    assert ours.steps == theirs["verify_steps"]
    assert round(ours.accept_length, 4) == theirs["accept_length"]


def test_the_replay_equals_the_number_of_the_training_manifest(rows: dict[str, tuple[Row, ...]]) -> None:
    manifest = json.loads((REPOSITORY / "recipes" / "tiny-ft.training.json").read_text())
    assert round(walk(rows["tiny-ft"], "agent").accept_length, 4) == manifest["held_out"]["accept_length"]


def test_base_and_fine_tune_are_told_apart_where_it_was_tuned_and_not_outside(
    rows: dict[str, tuple[Row, ...]],
) -> None:
    found = {}
    for domain in ("agent", "story"):
        base, tuned = (
            [row.accepted for row in rows[name] if row.domain == domain] for name in ("base", "tiny-ft")
        )
        found[domain] = paired(base, tuned, 0.0)
    assert found["agent"].low > 0
    assert found["story"].low < 0 < found["story"].high


def test_what_is_expected_at_temperature_1_is_bounded(rows: dict[str, tuple[Row, ...]]) -> None:
    every = pooled(row.every for row in rows["tiny-ft"])
    low, high = every.expected_accept_length or (0, 0)
    assert 1 < low < high < every.accept_length


def test_top_takes_the_first_of_each_domain(recorded: Recorded) -> None:
    fewer = Recorded.of(recorded.trace, "cpu", recorded.dtype, top=2)
    assert [each.name for each in fewer.conversations] == ["agent-00", "agent-01", "story-00", "story-01"]
    assert fewer.domains == ("agent", "story")
    assert fewer.temperature == 0


def test_a_conversation_shorter_than_a_block_has_no_step(recorded: Recorded) -> None:
    draft = Draft.of(Sources().open(str(TINY / "tiny-ft")), recorded)
    longer = draft.config | {"block_size": 512}
    with pytest.raises(UsageError, match="longer than a block"):
        run(draft.made(draft.reading(config=longer)), recorded.only("story"))


def test_a_draft_without_a_reference_is_refused(recorded: Recorded, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Nobody"], "model_type": "x"}))
    with pytest.raises(NoReferenceError, match="no reference for this family"):
        Draft.of(Sources().open(str(tmp_path)), recorded)


def test_an_engine_that_reads_another_amplitude_gets_another_number(
    recorded: Recorded, rows: dict[str, tuple[Row, ...]]
) -> None:
    """YaRN over so long an original context leaves every frequency alone: only the amplitude is left, which
    SGLang 0.5.14 takes from the factor, and 0.5.23 and trainers from the mscale keys (zoo rule E001)."""
    yarn = {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 64.0,
        "original_max_position_embeddings": 2_500_000,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    }
    draft = Draft.of(Sources().open(str(TINY / "tiny-ft")), recorded)
    config = {**draft.config, "rope_parameters": yarn}
    found = {
        engine: walk(run(draft.made(draft.reading(engine, config)), recorded), "agent")
        for engine in (None, ("sglang", "0.5.14"), ("sglang", "0.5.23"))
    }
    declared = walk(rows["tiny-ft"], "agent")
    assert found[None].histogram == found[("sglang", "0.5.23")].histogram == declared.histogram
    assert found[("sglang", "0.5.14")].accept_length < declared.accept_length - 0.1
