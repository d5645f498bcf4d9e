"""The gates: which outcome each has, and what a push and a dry run make of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.release.conftest import Place
from zoo.digests import FileDigest, basis_digest, sha256_file
from zoo.evidence import Engine, Evidence, Result, basis_of, evidence_folder, write_evidence
from zoo.recipe.load import usable_recipe
from zoo.release.manifest import engine_digest
from zoo.replay.settings import settings_of
from zoo.results import Outcome
from zoo.smoke import settings as smoke_settings
from zoo.smoke.command import public_argv
from zoo.workspace import find_zoo


def add_evidence(
    place: Place, kind: str, outcome: Outcome, *, tier: str = "1gpu", digest: str | None = None
) -> Path:
    """A record of ``kind`` for the checkpoint of ``place``, bound as a real one is."""
    zoo = find_zoo(place.root)
    recipe = usable_recipe(zoo, "tiny")
    files = [
        FileDigest(name, (place.checkpoint / name).stat().st_size, sha256_file(place.checkpoint / name))
        for name in recipe.checkpoint.files
    ]
    digest = digest or engine_digest(recipe, files)
    on_cpu = tier == "cpu"
    subject = "held-out" if kind != "smoke" else "reference" if on_cpu else "sglang-tiny"
    inputs = {"sha256": "0" * 64}
    asked = {"smoke": lambda: smoke_settings.settings_of(recipe, tier), "replay": lambda: settings_of(recipe)}
    settings = asked[kind]().as_json() if kind in asked else {}
    record = Evidence(
        kind=kind,
        subject=subject,
        checkpoint_digest=digest,
        basis_digest=basis_digest(recipe, basis_of(recipe, kind, subject, inputs), digest, settings),
        target={"repo": "zoo-tests/tiny-target", "revision": "0" * 40},
        inputs=inputs,
        settings=settings,
        engine=(
            Engine("reference", "0.1.0", public_argv(recipe, recipe.profiles[0], "cpu"))
            if on_cpu
            else Engine("sglang", "0.5.14", ())
        ),
        host={"gpus": [] if on_cpu else ["H200"]},
        tool="draft-zoo 0.1.0",
        started="2026-11-30T18:00:00Z",
        ended="2026-11-30T18:01:00Z",
        results=(
            Result(
                "gate/log" if kind == "smoke" else "accept-length",
                outcome,
                "" if outcome is Outcome.PASSED else "why",
                {},
            ),
        ),
    )
    path = evidence_folder(zoo, recipe) / f"{record.name}.json"
    write_evidence(path, record)
    return path


def gates_of(place: Place) -> dict[str, dict[str, object]]:
    return json.loads((place.published / "tiny/1.0.0/manifest.json").read_bytes())["gates"]


def test_a_gate_that_the_recipe_does_not_ask_for_is_listed_as_not_checked_and_stops_nothing(
    place: Place,
) -> None:
    assert place.push().status == 0
    gates = gates_of(place)
    assert {name: gate["outcome"] for name, gate in gates.items()} == {
        "static": "passed",
        "bytes": "passed",
        "replay": "not_checked",
        "smoke": "not_checked",
    }
    assert gates["replay"]["asked"] is False
    assert gates["replay"]["reason"] == "no replay evidence for this checkpoint"
    assert "replay: not checked" in (place.published / "tiny/1.0.0/notes.md").read_text()


@pytest.mark.parametrize(
    ("outcome", "reason", "status"),
    [
        (Outcome.PASSED, False, 0),
        (Outcome.PASSED, True, 0),
        (Outcome.FAILED, False, 1),
        (Outcome.FAILED, True, 1),
        (Outcome.NOT_CHECKED, False, 2),
        (Outcome.NOT_CHECKED, True, 0),
        (None, False, 2),
        (None, True, 0),
    ],
)
@pytest.mark.parametrize("push", [True, False])
def test_a_gate_that_the_recipe_asks_for(
    place: Place, outcome: Outcome | None, reason: bool, status: int, push: bool
) -> None:
    place.edit_recipe("gates: {}", "gates: {replay: {}}")
    if outcome is not None:
        add_evidence(place, "replay", outcome)
    args = ["--unchecked", "replay=no GPU here"] if reason else []
    ran = place.push(*args) if push else place.release(*args)
    assert ran.status == status, ran.out + ran.err
    assert (place.published / "tiny/1.0.0").exists() == (push and status == 0)
    if push and status == 0:
        manifest = json.loads((place.published / "tiny/1.0.0/manifest.json").read_bytes())
        passed_over = reason and outcome is not Outcome.PASSED
        assert manifest["unchecked"] == ({"replay": "no GPU here"} if passed_over else {})
    if push and status == 2:
        assert '--unchecked replay="..."' in ran.err


def test_a_reason_is_stated_in_manifest_notes_and_card(place: Place) -> None:
    place.edit_recipe("gates: {}", "gates: {smoke: {tier: 1gpu}}")
    assert place.push("--unchecked", "smoke=the cluster is down").status == 0
    folder = place.published / "tiny/1.0.0"
    assert json.loads((folder / "manifest.json").read_bytes())["unchecked"] == {
        "smoke": "the cluster is down"
    }
    assert "the cluster is down" in (folder / "notes.md").read_text()
    assert "the cluster is down" in (folder / "README.md").read_text()


def test_evidence_of_another_checkpoint_does_not_count(place: Place) -> None:
    place.edit_recipe("gates: {}", "gates: {replay: {}}")
    add_evidence(place, "replay", Outcome.PASSED, digest="f" * 64)
    ran = place.push()
    assert ran.status == 2
    assert "another checkpoint" in ran.err


def test_only_a_replay_answers_the_replay_gate(place: Place) -> None:
    place.edit_recipe("gates: {}", "gates: {replay: {}}")
    add_evidence(place, "reference", Outcome.PASSED)
    ran = place.push()
    assert ran.status == 2
    assert "gate replay was not checked: no replay evidence for this checkpoint" in ran.err
    add_evidence(place, "replay", Outcome.PASSED)
    assert place.push().status == 0


def everywhere(place: Place, ran: Ran) -> tuple[str, ...]:
    """What is said of the gates: in the line of the step, and on the manifest, the notes and the card."""
    folder = place.published / "tiny/1.0.0"
    [line] = [line for line in ran.out.splitlines() if line.startswith("gates ")]
    texts = [(folder / name).read_text() for name in ("manifest.json", "notes.md", "README.md")]
    return line, *texts


def test_a_passed_gate_says_everywhere_how_many_checks_ran_and_which_did_not(place: Place) -> None:
    ran = place.push()
    assert ran.status == 0
    reason = str(gates_of(place)["static"]["reason"])
    assert re.fullmatch(
        r"\d+ checks; not checked: B001, B002 \(the recipe names no base draft\), "
        r"C101(, R\d+)+ \(the recipe names no training manifest\), "
        r"C110(, C\d+)+ \(the target is not here\)",
        reason,
    )
    assert all(reason in text for text in everywhere(place, ran))
    unread = "B003, B004, B005 (the recipe names no base draft), C121 (the target is not here)"
    assert re.match(rf"\d+ checks; not checked: {re.escape(unread)}", str(gates_of(place)["bytes"]["reason"]))


def test_a_base_draft_that_is_not_here_is_named_without_the_advice_for_another_command(place: Place) -> None:
    place.edit_recipe(
        "training:\n",
        "base: {repo: zoo-tests/base, revision: unknown, config: identical, inventory: identical}\n"
        "training:\n",
    )
    assert place.push().status == 0
    assert "B001, B002 (the base draft is not here), C101" in str(gates_of(place)["static"]["reason"])


WAIVERS = """\
waivers:
  - {code: L002, reason: nothing is wrong there, until: 2999-01-01}
  - {code: L001, reason: this one has expired, until: 2000-01-01}
  - {code: L001, reason: "half a block, <b>for a test</b>", until: 2999-01-01}
"""


def test_a_waiver_that_hid_a_finding_is_said_everywhere_and_no_other(place: Place) -> None:
    profile = place.root / "recipes/profiles/sglang-tiny.yaml"
    place.edit_recipe("gates: {}\n", "gates: {}\n" + WAIVERS)
    profile.write_text(profile.read_text().replace("block-size 4", "block-size 2"))
    ran = place.push()
    assert ran.status == 0, ran.err
    reason = str(gates_of(place)["static"]["reason"])
    assert reason.endswith("; waived: L001 (half a block, <b>for a test</b>, until 2999-01-01)")
    line, _, notes, card = everywhere(place, ran)
    assert reason in line
    escaped = reason.replace("<", "\\<")
    assert f"- static: passed: {escaped}\n" in notes
    assert f"| passed | {escaped} |" in card


def test_a_smoke_test_of_another_tier_does_not_count(place: Place) -> None:
    place.edit_recipe("gates: {}", "gates: {smoke: {tier: 8gpu}}")
    add_evidence(place, "smoke", Outcome.PASSED, tier="cpu")
    ran = place.push()
    assert ran.status == 2
    assert "it ran on tier cpu, not 8gpu" in ran.err


def test_evidence_that_contradicts_itself_is_refused(place: Place) -> None:
    path = add_evidence(place, "replay", Outcome.PASSED)
    path.write_text(path.read_text().replace("18:01", "17:01"))
    ran = place.push()
    assert ran.status == 1
    assert "before it started" in ran.err


def test_a_failing_static_gate_stops_a_push_whatever_is_said(place: Place) -> None:
    config = place.checkpoint / "config.json"
    config.write_text(config.read_text().replace('"block_size": 4', '"block_size": 8'))
    ran = place.push("--unchecked", "static=I know")
    assert ran.status == 1
    assert "gate static fails" in ran.err
    assert not place.published.exists()


def test_evidence_that_is_added_after_the_release_needs_no_new_version(place: Place) -> None:
    assert place.push().status == 0
    add_evidence(place, "replay", Outcome.PASSED)
    assert place.push().status == 0
    assert gates_of(place)["replay"]["outcome"] == "not_checked"
