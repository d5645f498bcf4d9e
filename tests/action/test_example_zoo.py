"""docs/example-zoo works with the tool of today, and the scripts of its workflows do what they say."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.action.conftest import EXAMPLE, RECIPE, Desk, copied
from tests.ci.example import Work
from tests.ci.test_github_comment import TOKEN, GitHub
from tests.conftest import Ran as Zoo
from tests.trust.making import public_pem, write_key
from zoo.checkpoint.writer import header_bytes
from zoo.recipe.config import inventory_of
from zoo.recipe.load import usable_recipe
from zoo.report.comment import MARK
from zoo.workspace import find_zoo

RECORD = "release/example-draft/0.1.0/evidence/replay-held-out.json"
SERVED = {"github.token": TOKEN}
SIGNERS = 'trust = {signers = [{name = "release", key = "keys/release.pub"}]}\n'


def asked(desk: Desk) -> dict[str, str]:
    """What a maintainer typed, as ``env:`` of the workflow has it."""
    commit = Work(desk.workspace, desk.work.keys).git("rev-parse", "HEAD").strip()
    env = {"NUMBER": "7", "COMMIT": commit, "DRAFT": "example-draft", "LC_ALL": "C", "MAIN": "main"}
    return env | {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "acme/zoo"}


@pytest.fixture
def measured(_measured: Path, tmp_path: Path) -> Desk:
    """A zoo with a signer; a pull request to it checked out; a record of it in the artifact."""
    return copied(_measured, tmp_path)


@pytest.fixture(scope="module")
def _measured(_upstream: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    desk = copied(_upstream, tmp_path_factory.mktemp("measured"))
    desk.work.git("checkout", "-q", "-B", "main", "origin/main")
    desk.work.remove("recipes/later.yaml")
    desk.work.write("keys/release.pub", public_pem(write_key(desk.work.keys / "release.pem")))
    desk.work.write("zoo.toml", desk.work.read("zoo.toml") + SIGNERS)
    desk.work.commit()
    desk.work.git("push", "-q", "origin", "main")
    desk.work.git("checkout", "-q", "-B", "change")
    desk.work.edit(RECIPE, "title: An example draft", "title: A better example")
    desk.work.card("example-draft")
    desk.work.commit()
    desk.work.git("push", "-q", "-f", "origin", "HEAD:refs/heads/change")
    desk.work.record("example-draft", accept_histogram=[20, 30, 30, 20, 0, 0, 0, 0])
    place = desk.temp / "evidence" / RECORD
    place.parent.mkdir(parents=True)
    shutil.move(desk.work.root / RECORD, place)
    desk.check_out("refs/heads/change")
    return desk.temp.parent


def test_the_example_is_a_zoo_that_the_tool_of_today_accepts(
    tmp_path: Path, run_zoo: Callable[..., Zoo], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "zoo")
    monkeypatch.chdir(tmp_path / "zoo")
    assert "example-draft" in run_zoo("list").out
    assert run_zoo("card", "example-draft", "--check").status == 0
    ran = run_zoo("verify", "--all")
    assert ran.status == 0, ran.out
    assert sum(path.stat().st_size for path in EXAMPLE.rglob("*") if path.is_file()) < 80_000


def test_records_of_the_draft_are_signed_committed_judged_and_pushed(measured: Desk) -> None:
    env = asked(measured)
    key = (measured.work.keys / "release.pem").read_text()
    secrets = {"secrets.ZOO_SIGNING_KEY": key, "github.token": "ghs_notatoken"}
    names = (
        "Take over records of this version, and nothing else",
        "Sign them",
        "Render the card, and commit",
    )
    for name in (*names, "Judge the result", "Push the branch"):
        ran = measured.run_in("measure", "sign", name, env=env, **secrets)
        assert ran.status == 0, f"{name}\n{ran.log}"
        assert key.splitlines()[1] not in ran.log
    assert "1 recipe affected" not in ran.log
    masked = [each.data for each in ran.commands if each.name == "add-mask"]
    assert len(masked) == 1
    assert "https://github.com/acme/zoo/compare/main...draft-zoo/pr-7?expand=1" in ran.summary
    assert not (measured.temp / "key.pem").exists()
    origin = Work(measured.origin, measured.work.keys)
    changed = origin.git("diff", "--name-only", env["COMMIT"], "refs/heads/draft-zoo/pr-7").split()
    assert changed == ["release/example-draft/0.1.0/README.md", RECORD, f"{RECORD}.sig"]
    assert origin.git("rev-parse", "refs/heads/draft-zoo/pr-7~1").strip() == env["COMMIT"]
    card = origin.git("show", "refs/heads/draft-zoo/pr-7:release/example-draft/0.1.0/README.md")
    assert "signed by release" in card
    with GitHub() as github, github.answering():
        server = {"GITHUB_GRAPHQL_URL": github.url}
        ran = measured.run_in("measure", "sign", "Say so in the pull request", env | server, **SERVED)
        assert ran.status == 0, ran.log
        [(_, comment)] = github.comments
    assert comment.startswith(MARK)
    assert "| `replay-held-out` | passed | signed by release | yes | added |" in comment


def test_a_branch_with_other_commits_is_not_overwritten(measured: Desk) -> None:
    measured.work.write("notes.md", "by hand")
    measured.work.commit()
    measured.work.git("push", "-q", "origin", "HEAD:refs/heads/draft-zoo/pr-7")
    place = Work(measured.workspace, measured.work.keys)
    place.commit()
    ran = measured.run_in("measure", "sign", "Push the branch", env=asked(measured), **{"github.token": "x"})
    assert ran.status != 0
    assert "rejected" in ran.log


def test_nothing_but_records_is_taken_out_of_the_artifact(measured: Desk) -> None:
    paths = (
        "release/other/0.1.0/evidence/replay-held-out.json",
        "release/example-draft/0.1.0/README.md",
        "release/example-draft/9.9.9/evidence/replay-held-out.json",
        "release/example-draft/0.1.0/evidence/replay-held-out.json.sig",
        "release/example-draft/../../.git/evidence/config.json",
        ".git/hooks/pre-commit",
        "release/example-draft/0.1.0/evidence/a\n::error::x.json",
        "release/example-draft/0.1.0/evidence/$(touch pwned).json",
    )
    env, name = asked(measured), "Take over records of this version, and nothing else"
    for path in paths:
        place = measured.temp / "evidence" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("{}")
        ran = measured.run_in("measure", "sign", name, env=env)
        place.unlink()
        assert ran.status == 1, path
        assert [each.name for each in ran.commands] == ["error"], path
        assert ran.commands[0].data.startswith("this is no record of this version")
    assert not list(measured.temp.parent.rglob("pwned"))
    assert not (measured.workspace / RECORD).exists()
    assert measured.run_in("measure", "sign", name, env=env).status == 0


def test_a_link_in_the_artifact_or_on_the_way_of_a_record_ends_the_job(
    measured: Desk, tmp_path: Path
) -> None:
    name = "Take over records of this version, and nothing else"
    link = measured.temp / "evidence" / RECORD.replace("held-out", "linked")
    link.symlink_to("/etc/passwd")
    assert measured.run_in("measure", "sign", name, env=asked(measured)).status == 1
    link.unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (measured.workspace / RECORD).parent.symlink_to(elsewhere)
    assert measured.run_in("measure", "sign", name, env=asked(measured)).status == 1
    assert not list(elsewhere.iterdir())


def test_a_record_that_is_not_of_these_bytes_is_signed_and_does_not_pass(measured: Desk) -> None:
    """The signature says who measured it; the gate after it says whether it fits."""
    record = measured.temp / "evidence" / RECORD
    document = json.loads(record.read_text())
    document["results"][0]["measured"]["accept_length"] = 9.9
    record.write_text(json.dumps(document))
    key = (measured.work.keys / "release.pem").read_text()
    for name in ("Take over records of this version, and nothing else", "Sign them"):
        ran = measured.run_in(
            "measure", "sign", name, env=asked(measured), **{"secrets.ZOO_SIGNING_KEY": key}
        )
        assert ran.status == 0, ran.log
    ran = measured.run_in("measure", "sign", "Render the card, and commit", env=asked(measured))
    assert ran.status == 1
    assert "K006" in ran.log


def test_a_request_that_is_none_is_refused(desk: Desk) -> None:
    desk.workspace.mkdir()
    good = {"NUMBER": "7", "COMMIT": "0123456789" * 4, "DRAFT": "example-draft", "LC_ALL": "C"}
    step = ("measure", "measure", "Look at what was asked for")
    assert desk.run_in(*step, env=good).status == 0
    wrong = [
        ("NUMBER", "7; rm"),
        ("NUMBER", "0"),
        ("COMMIT", "main"),
        ("DRAFT", "../x"),
        ("DRAFT", "a\nb"),
        ("DRAFT", "$(x)"),
    ]
    for name, value in wrong:
        ran = desk.run_in(*step, env=good | {name: value})
        assert (ran.status, [each.name for each in ran.commands]) == (2, ["error"]), value


def test_only_the_commit_that_was_read_is_measured(measured: Desk) -> None:
    step = ("measure", "measure", "Make sure that it is this commit")
    assert measured.run_in(*step, env=asked(measured)).status == 0
    ran = measured.run_in(*step, env=asked(measured) | {"COMMIT": "0" * 40})
    assert ran.status == 1
    assert "another commit" in ran.log


def test_the_measuring_commands_are_commands_of_the_tool(measured: Desk) -> None:
    """Run without a GPU, a trace or an engine: they get as far as missing those."""
    folder = str(measured.temp / "nothing here")
    places = {"vars.ZOO_TRACES": folder, "vars.ZOO_TARGETS": folder, "vars.ZOO_ENGINE_PYTHON": "python3"}
    ran = measured.run_in("measure", "measure", "Replay it", env=asked(measured), **places)
    assert (ran.status, "nothing here/example-draft" in ran.log) == (2, True), ran.log
    ran = measured.run_in("measure", "measure", "Serve it", env=asked(measured), **places)
    assert ran.status == 2, ran.log
    assert "usage" not in ran.log.lower()


def test_new_records_and_nothing_else_are_handed_over(measured: Desk) -> None:
    shutil.rmtree(measured.temp / "evidence")
    place = Work(measured.workspace, measured.work.keys)
    place.write(RECORD, "{}")
    place.write("release/other/0.1.0/evidence/replay-held-out.json", "{}")
    place.write("release/example-draft/0.1.0/log.txt", "x")
    ran = measured.run_in("measure", "measure", "Collect the records", env=asked(measured))
    assert ran.status == 0, ran.log
    found = [path for path in (measured.temp / "evidence").rglob("*") if path.is_file()]
    assert found == [measured.temp / "evidence" / RECORD]


def test_a_release_is_published_signed_and_recorded_on_a_branch(measured: Desk, tmp_path: Path) -> None:
    place = find_zoo(measured.workspace)
    tensors = inventory_of(usable_recipe(place, "example-draft"))
    data = os.urandom(sum(spec.nbytes for spec in tensors.values()) // 2)
    numbers = b"".join(bytes([byte, 60]) for byte in data)  # bfloat16 of about 0.01: no NaN, no Inf, not zero
    weights = measured.workspace / "drafts" / "example-draft" / "model.safetensors"
    weights.write_bytes(header_bytes(tensors, {"format": "pt"}) + numbers)
    Work(measured.workspace, measured.work.keys).commit()
    meant = {
        "secrets.HF_TOKEN": "",
        "secrets.ZOO_SIGNING_KEY": (measured.work.keys / "release.pem").read_text(),
        "github.token": "x",
    }
    env = asked(measured) | {"TARGET": f"dir:{tmp_path / 'published'}", "GITHUB_RUN_ID": "5"}
    ran = measured.run_in("release", "release", "Release it", env=env, **meant)
    assert ran.status == 0, ran.log
    assert (tmp_path / "published" / "example-draft" / "0.1.0" / "model.sig").is_file()
    assert not (measured.temp / "key.pem").exists()
    ran = measured.run_in("release", "release", "Push what was recorded", env=env, **meant)
    assert ran.status == 0, ran.log
    origin = Work(measured.origin, measured.work.keys)
    log = origin.git("show", "refs/heads/draft-zoo/release-example-draft-5:release/example-draft/log.jsonl")
    assert json.loads(log)["event"] == "published"
    for name in ("Release it", "Push what was recorded"):
        ran = measured.run_in("release", "release", name, env=env, **meant)
        assert ran.status == 0, ran.log
    assert "before" in ran.summary
