"""``zoo card``: writing, drift, and what is frozen."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.card.conftest import DIGEST, record, save
from tests.conftest import Ran
from zoo.card.check import _check
from zoo.card.render import card_path
from zoo.card.standing import no_evidence
from zoo.digests import sha256_file
from zoo.errors import CardDriftError
from zoo.recipe.model import Recipe
from zoo.workspace import Zoo

RunCard = Callable[..., Ran]


@pytest.fixture
def run_card(kimi_zoo: Zoo, run_zoo: RunCard) -> RunCard:
    return lambda *args: run_zoo("--zoo", kimi_zoo.root, "card", *args)


def publish(zoo: Zoo, recipe: Recipe) -> None:
    """A manifest beside the card, as a release leaves it."""
    path = card_path(zoo, recipe)
    gate = {"outcome": "passed", "asked": True, "reason": ""}
    skipped = {
        name: {"outcome": "not_checked", "asked": True, "reason": no_evidence(name)}
        for name in ("replay", "smoke")
    }
    manifest = {
        "checkpoint_digest": DIGEST,
        "files": [{"path": "README.md", "size": path.stat().st_size, "sha256": sha256_file(path)}],
        "gates": {"static": gate, "bytes": gate, **skipped},
        "unchecked": {"smoke": "no B200 at hand"},
    }
    write_manifest(path.parent, json.dumps(manifest))


def write_manifest(folder: Path, text: str) -> None:
    """A manifest, and the log that says that it was published."""
    (folder / "manifest.json").write_text(text)
    event = {
        "event": "published",
        "version": "1.0.0",
        "target": "dir:published",
        "ref": "kimi-ft-v3/1.0.0",
        "manifest_sha256": sha256_file(folder / "manifest.json"),
    }
    (folder.parent / "log.jsonl").write_text(json.dumps(event) + "\n")


def test_a_card_is_written_and_a_second_run_says_that_there_is_nothing_to_do(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe
) -> None:
    assert run_card("kimi-ft-v3").out == "release/kimi-ft-v3/1.0.0/README.md: written\n"
    assert run_card("kimi-ft-v3").out.endswith("up to date, nothing to do\n")
    assert run_card("kimi-ft-v3", "--check").status == 0
    assert [path.name for path in card_path(kimi_zoo, kimi).parent.iterdir()] == ["README.md"]


def test_stdout_prints_the_same_card_and_writes_nothing(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe
) -> None:
    printed = run_card("kimi-ft-v3", "--stdout").out
    assert not card_path(kimi_zoo, kimi).exists()
    run_card("kimi-ft-v3")
    assert card_path(kimi_zoo, kimi).read_text() == printed


def test_a_missing_card_fails_the_check_and_the_next_action_is_named(run_card: RunCard) -> None:
    ran = run_card("kimi-ft-v3", "--check")
    assert ran.status == 1
    assert "there is no card yet" in ran.err
    assert "zoo card kimi-ft-v3" in ran.err


def test_the_check_fails_after_any_edit(run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe) -> None:
    text = run_card("kimi-ft-v3", "--stdout").out
    path = card_path(kimi_zoo, kimi)
    path.parent.mkdir(parents=True)
    lines = text.splitlines(keepends=True)
    edits = [text + "\n", text.removesuffix("\n"), text.replace("\n", "\r\n"), "", text + "\x1b[31m"]
    for number, line in enumerate(lines):
        before, after = lines[:number], lines[number + 1 :]
        edits += ["".join([*before, *after]), "".join([*before, line[:-1] + "x\n", *after])]
        edits.append("".join([*before, line.swapcase() if line.swapcase() != line else " " + line, *after]))
    for edit in edits:
        assert edit != text
        path.write_bytes(edit.encode())
        with pytest.raises(CardDriftError):
            _check(kimi_zoo, kimi, text)
    path.write_bytes(text.encode())
    _check(kimi_zoo, kimi, text)


def test_drift_is_shown_as_a_short_diff_that_cannot_colour_the_terminal(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe
) -> None:
    run_card("kimi-ft-v3")
    path = card_path(kimi_zoo, kimi)
    path.write_text(path.read_text().replace("3,071", "30,710\x1b[2J"))
    ran = run_card("kimi-ft-v3", "--check")
    assert ran.status == 1
    assert "+A DFlash draft" in ran.err
    assert "30,710\\x1b[2J" in ran.err
    assert "\x1b" not in ran.err
    assert len(ran.err.splitlines()) < 50


def test_an_edit_of_the_recipe_is_drift_too(run_card: RunCard, edited: Any) -> None:
    run_card("kimi-ft-v3")
    edited(lambda data: data.update(title="Another title"))
    assert run_card("kimi-ft-v3", "--check").status == 1


def test_a_published_card_is_frozen_and_only_the_next_version_changes_it(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe, edited: Any
) -> None:
    run_card("kimi-ft-v3")
    publish(kimi_zoo, kimi)
    assert run_card("kimi-ft-v3", "--check").status == 0
    edited(lambda data: data.update(title="Another title"))
    before = card_path(kimi_zoo, kimi).read_bytes()
    ran = run_card("kimi-ft-v3")
    assert ran.status == 1
    assert "frozen" in ran.err
    assert "raise the version" in ran.err
    assert card_path(kimi_zoo, kimi).read_bytes() == before
    assert run_card("kimi-ft-v3", "--check").status == 0  # by its digest, whatever the recipe says now
    card_path(kimi_zoo, kimi).write_bytes(before + b"x")
    assert run_card("kimi-ft-v3", "--check").status == 1


def test_a_card_prints_the_command_of_zoo_launch_before_a_release_and_after(
    run_card: RunCard, run_zoo: RunCard, kimi_zoo: Zoo, kimi: Recipe
) -> None:
    launch = run_zoo("--zoo", kimi_zoo.root, "launch", "kimi-ft-v3").out
    assert launch in run_card("kimi-ft-v3", "--stdout").out
    run_card("kimi-ft-v3")
    publish(kimi_zoo, kimi)
    text = run_card("kimi-ft-v3", "--stdout").out
    assert launch in text
    assert f"Version 1.0.0 of `{kimi.repo}`.\n" in text
    assert "v1.0.0" not in text  # no tag: a release to a directory makes none


def test_a_released_card_states_why_a_gate_was_passed_over_and_says_once_that_there_is_no_record(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe
) -> None:
    run_card("kimi-ft-v3")
    publish(kimi_zoo, kimi)
    text = run_card("kimi-ft-v3", "--stdout").out
    assert "not released yet" not in text
    assert "| not checked | no record that it ever ran; the recipe asks for it |" in text
    assert "no B200 at hand" in text
    assert "| Static | the checkpoint | passed |" in text
    assert f"Checkpoint digest: `{DIGEST}`" in text


@pytest.mark.parametrize(
    ("repo", "said"),
    [
        ("unknown", "same architecture as the base draft (by the author, not compared): "),
        ("nvidia/stock-draft", "same architecture as the base draft (by the author, not compared): "),
        ("./base", "same architecture as the base draft: "),
    ],
)
def test_a_base_draft_that_is_no_folder_of_the_zoo_is_the_same_by_the_word_of_the_author(
    run_card: RunCard, edited: Any, repo: str, said: str
) -> None:
    edited(lambda data: data["base"].update(repo=repo))
    assert f"; {said}6 layers" in run_card("kimi-ft-v3", "--stdout").out


def test_a_broken_manifest_is_an_error_that_names_it(run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe) -> None:
    run_card("kimi-ft-v3")
    write_manifest(card_path(kimi_zoo, kimi).parent, "{}")
    ran = run_card("kimi-ft-v3")
    assert ran.status == 2
    assert "release/kimi-ft-v3/1.0.0/manifest.json: not a manifest" in ran.err


def test_refused_evidence_stops_the_card_and_is_listed(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe
) -> None:
    path = save(kimi_zoo, kimi, record(kimi))
    path.write_text(path.read_text().replace('"verify_steps": 100', '"verify_steps": 90'))
    ran = run_card("kimi-ft-v3")
    assert ran.status == 1
    assert "K006" in ran.err
    assert "verify_steps is 90, but the accept histogram counts 100" in ran.err


def test_a_card_is_not_written_through_a_link_that_leads_out_of_the_zoo(
    run_card: RunCard, kimi_zoo: Zoo, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (kimi_zoo.root / "release").symlink_to(tmp_path / "outside")
    assert run_card("kimi-ft-v3").status == 1
    assert not list((tmp_path / "outside").iterdir())


MODES = [[], ["--check"], ["--stdout"]]


@pytest.mark.parametrize("args", MODES)
def test_a_manifest_that_was_edited_after_publication_is_refused_and_named(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe, args: list[str]
) -> None:
    run_card("kimi-ft-v3")
    publish(kimi_zoo, kimi)
    manifest = card_path(kimi_zoo, kimi).parent / "manifest.json"
    text = manifest.read_text()
    for edit in (text.replace("no B200", "no B100"), text + "\n", None):
        manifest.unlink()
        if edit is not None:
            manifest.write_text(edit)
        ran = run_card("kimi-ft-v3", *args)
        assert ran.status == 1
        assert "release/kimi-ft-v3/1.0.0/manifest.json is not what was published" in ran.err
        assert "git checkout -- release/kimi-ft-v3/1.0.0/manifest.json" in ran.err
        manifest.touch()


def test_a_log_whose_digest_is_no_text_does_not_vouch_for_a_manifest(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe
) -> None:
    run_card("kimi-ft-v3")
    publish(kimi_zoo, kimi)
    log = kimi_zoo.release_folder("kimi-ft-v3") / "log.jsonl"
    log.write_text(json.dumps(json.loads(log.read_text()) | {"manifest_sha256": []}) + "\n")
    ran = run_card("kimi-ft-v3", "--check")
    assert ran.status == 1
    assert "manifest.json is not what was published" in ran.err


@pytest.mark.parametrize("args", MODES)
def test_a_manifest_that_the_log_does_not_know_is_refused(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe, args: list[str]
) -> None:
    run_card("kimi-ft-v3")
    publish(kimi_zoo, kimi)
    (kimi_zoo.release_folder("kimi-ft-v3") / "log.jsonl").unlink()
    ran = run_card("kimi-ft-v3", *args)
    assert ran.status == 1
    assert "the log does not say that kimi-ft-v3 1.0.0 was published" in ran.err
    assert "zoo release kimi-ft-v3 --push" in ran.err


@pytest.mark.parametrize(
    "line", ['{"event": "published"}', "not json", '{"event": "published", "version": 1}']
)
def test_a_damaged_log_is_named_with_its_line(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe, line: str
) -> None:
    run_card("kimi-ft-v3")
    publish(kimi_zoo, kimi)
    log = kimi_zoo.release_folder("kimi-ft-v3") / "log.jsonl"
    log.write_text(log.read_text() + line + "\n")
    ran = run_card("kimi-ft-v3", "--check")
    assert ran.status == 2
    assert "release/kimi-ft-v3/log.jsonl:2: " in ran.err


@pytest.mark.parametrize("args", [[], ["--check"]])
@pytest.mark.parametrize("file", ["1.0.0/README.md", "1.0.0/manifest.json", "log.jsonl"])
@pytest.mark.parametrize("published", [False, True])
def test_a_link_is_refused_and_what_it_leads_to_is_not_printed(
    run_card: RunCard,
    kimi_zoo: Zoo,
    kimi: Recipe,
    tmp_path: Path,
    args: list[str],
    file: str,
    published: bool,
) -> None:
    run_card("kimi-ft-v3")
    if published:
        publish(kimi_zoo, kimi)
    secret = kimi_zoo.root / "secret" if published else tmp_path / "secret"
    secret.write_text("SECRET\n")
    path = kimi_zoo.release_folder("kimi-ft-v3") / file
    path.unlink(missing_ok=True)
    path.symlink_to(secret)
    ran = run_card("kimi-ft-v3", *args)
    assert ran.status == 1
    assert f'"release/kimi-ft-v3/{file}" is a link' in ran.err
    assert "SECRET" not in ran.out + ran.err
    assert path.is_symlink()
    assert secret.read_text() == "SECRET\n"


@pytest.mark.parametrize("args", [[], ["--check"]])
@pytest.mark.parametrize("file", ["1.0.0/README.md", "1.0.0/manifest.json", "log.jsonl"])
def test_a_fifo_is_named_and_never_waited_for(
    run_card: RunCard, kimi_zoo: Zoo, kimi: Recipe, args: list[str], file: str
) -> None:
    run_card("kimi-ft-v3")
    path = kimi_zoo.release_folder("kimi-ft-v3") / file
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    ran = run_card("kimi-ft-v3", *args)
    assert ran.status == 2
    assert f"release/kimi-ft-v3/{file}" in ran.err
    assert "not a regular file" in ran.err


def test_check_and_stdout_do_not_go_together(run_card: RunCard) -> None:
    assert run_card("kimi-ft-v3", "--check", "--stdout").status == 2
