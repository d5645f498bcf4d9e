"""``zoo release --to HUB`` from outside: what a person sees, and what is on the hub afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.release.hub_place import HubPlace, publish_by_hand

RELEASED = {
    ".gitattributes",
    "README.md",
    "config.json",
    "manifest.json",
    "model.safetensors",
    "notes.md",
    "provenance.intoto.jsonl",
    "report.pdf",
}


def test_a_first_release_is_one_commit_and_one_tag_with_exactly_the_manifest(on_hub: HubPlace) -> None:
    ran = on_hub.push()
    assert ran.status == 0, ran.err
    first, begin = on_hub.commits
    assert on_hub.tags == {"v1.0.0": first}
    assert on_hub.files == RELEASED
    assert {entry.rfilename for entry in on_hub.api.model_info(on_hub.repo, revision=begin).siblings} == {
        ".gitattributes"
    }
    info = on_hub.api.model_info(on_hub.repo, revision="v1.0.0")
    assert info.private is True
    assert info.card_data is not None
    event = json.loads(on_hub.log)
    assert (event["event"], event["target"], event["ref"], event["tag"]) == (
        "published",
        on_hub.url,
        first,
        "v1.0.0",
    )
    assert f"tiny 1.0.0 is at {on_hub.url}/{on_hub.repo}/tree/{first}" in ran.out


def test_the_tag_says_which_manifest_it_is_about(on_hub: HubPlace) -> None:
    assert on_hub.push().status == 0
    status, _, body = on_hub.hub.ask("GET", f"/api/models/{on_hub.repo}/refs", token=on_hub.hub.token)
    assert status == 200
    [tag] = json.loads(body)["tags"]
    assert tag["message"] == f"manifest sha256 {json.loads(on_hub.log)['manifest_sha256']}"


def test_releasing_the_same_bytes_again_changes_nothing(on_hub: HubPlace) -> None:
    assert on_hub.push().status == 0
    before = on_hub.commits, on_hub.tags, on_hub.log
    again = on_hub.push()
    assert again.status == 0, again.err
    assert "skipped: published already" in again.out
    assert (on_hub.commits, on_hub.tags, on_hub.log) == before


def test_the_next_version_removes_strays_and_moves_nothing(on_hub: HubPlace) -> None:
    assert on_hub.push().status == 0
    old = on_hub.tags["v1.0.0"]
    publish_by_hand(on_hub.api, on_hub.repo, trainer_state__json="{}", notes__md="changed by hand")
    on_hub.place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    ran = on_hub.push()
    assert ran.status == 0, ran.err
    assert on_hub.files == RELEASED
    assert on_hub.tags == {"v1.0.0": old, "v1.1.0": on_hub.commits[0]}
    assert len(on_hub.commits) == 4


def test_a_signature_of_the_version_before_does_not_stay(on_hub: HubPlace) -> None:
    on_hub.make_repo()
    publish_by_hand(on_hub.api, on_hub.repo, model__sig="{}")
    assert on_hub.push().status == 0
    assert on_hub.files == RELEASED


def test_other_bytes_under_a_released_version_are_refused(on_hub: HubPlace) -> None:
    assert on_hub.push().status == 0
    before = on_hub.commits, on_hub.tags
    weights = on_hub.place.checkpoint / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-2] ^= 1
    weights.write_bytes(content)
    ran = on_hub.push()
    assert ran.status == 1
    assert "is released already, with other bytes" in ran.err
    assert (on_hub.commits, on_hub.tags) == before


def test_a_dry_run_asks_everything_and_writes_nothing(on_hub: HubPlace) -> None:
    before = len(on_hub.hub.log())
    ran = on_hub.release()
    assert ran.status == 0, ran.err
    requests = [line.split()[:2] for line in on_hub.hub.log()[before:].splitlines()]
    assert [path for method, path in requests if method != "GET"] == ["/api/validate-yaml"]
    assert not on_hub.api.repo_exists(on_hub.repo)
    assert not (on_hub.place.root / ".zoo").exists()


def test_a_stranger_pulls_and_verifies_what_was_released(
    on_hub: HubPlace, run_zoo: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert on_hub.push("--public-when-done").status == 0
    monkeypatch.delenv("HF_TOKEN")
    root, endpoint = on_hub.place.root, ("--endpoint", on_hub.url)
    assert run_zoo("--zoo", root, "pull", "tiny@1.0.0", "--out", tmp_path / "pulled", *endpoint).status == 0
    for path in (on_hub.place.checkpoint).iterdir():
        assert (tmp_path / "pulled" / path.name).read_bytes() == path.read_bytes()
    assert run_zoo("verify", f"hf://{on_hub.repo}@v1.0.0", *endpoint, "--deep").status == 0
    assert run_zoo("--zoo", root, "verify", "tiny@1.0.0", *endpoint, "--deep").status == 0


@pytest.mark.parametrize(
    ("whose", "said"),
    [
        ("nobody", "there is no token"),
        ("wrong", "does not accept the token (401)"),
        ("read", "the token may not do this (403)"),
        ("stranger", "is not a member of"),
        ("bad", "holds characters that cannot be sent"),
    ],
)
def test_a_token_that_is_not_enough_is_refused_before_anything_else(
    on_hub: HubPlace, whose: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = {
        "nobody": "",
        "wrong": "hf_" + "x" * 34,
        "read": on_hub.hub.read_token,
        "stranger": on_hub.hub.stranger_token,
        "bad": on_hub.hub.token + "\x07",
    }
    if whose == "read":
        on_hub.make_repo()
    monkeypatch.setenv("HF_TOKEN", tokens[whose])
    ran = on_hub.push()
    on_hub.refused(ran, said)
    assert not tokens[whose] or tokens[whose] not in ran.out + ran.err
    assert ran.out.split()[0] == "preflight"
    assert "verify" not in ran.out


def test_a_private_repository_of_others_is_not_there_for_a_stranger(
    on_hub: HubPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_hub.make_repo(private=True)
    monkeypatch.setenv("HF_TOKEN", on_hub.hub.stranger_token)
    on_hub.refused(on_hub.push(), "that this token may see, and its user is not a member of")


def test_somebody_elses_public_repository_is_refused_with_the_way_out(
    on_hub: HubPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_hub.make_repo(private=False)
    monkeypatch.setenv("HF_TOKEN", on_hub.hub.stranger_token)
    on_hub.refused(on_hub.push(), "may not do this (403)", "propose the release: --pr")


def test_metadata_that_the_hub_does_not_know_stop_before_any_upload(on_hub: HubPlace) -> None:
    on_hub.place.edit_recipe("license: {id: apache-2.0}", "license: {id: my-own-licence}")
    ran = on_hub.push()
    on_hub.refused(ran, "does not accept the metadata of README.md", status=1)
    assert not on_hub.api.repo_exists(on_hub.repo)


def test_a_token_in_the_header_of_the_weights_is_refused(on_hub: HubPlace) -> None:
    weights = on_hub.place.checkpoint / "model.safetensors"
    raw = weights.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    header["__metadata__"] = {"format": "pt", "pushed_with": on_hub.hub.token}
    changed = json.dumps(header).encode()
    weights.write_bytes(len(changed).to_bytes(8, "little") + changed + raw[8 + size :])
    on_hub.refused(on_hub.push(), "holds the very token that is in use", status=1)


def test_a_private_release_never_goes_to_a_public_repository(on_hub: HubPlace) -> None:
    on_hub.make_repo(private=False)
    on_hub.refused(on_hub.push("--private"), "is public, and the release was asked to be private", status=1)


def test_a_gate_stands_before_anything_is_committed(on_hub: HubPlace) -> None:
    before = len(on_hub.hub.log())
    assert on_hub.push("--gated", "manual", "--public-when-done").status == 0
    info = on_hub.api.model_info(on_hub.repo)
    assert (info.gated, info.private) == ("manual", False)
    writes = [line.split()[:2] for line in on_hub.hub.log()[before:].splitlines() if "GET" not in line]
    ends = [path.rpartition(f"{on_hub.repo}/")[2].split("/")[0] for _, path in writes]
    assert ends.index("settings") < ends.index("commit") < ends.index("tag")
    assert ends[-1] == "settings"


def test_a_tag_that_is_no_release_is_left_where_it_is(on_hub: HubPlace) -> None:
    on_hub.make_repo()
    on_hub.api.create_tag(on_hub.repo, tag="v1.0.0")
    where = on_hub.tags
    ran = on_hub.push()
    assert ran.status == 2
    assert "v1.0.0" in ran.err
    assert "is a tag already" in ran.err
    assert on_hub.tags == where


def test_a_gitignore_of_the_repository_takes_nothing_out_of_a_release(on_hub: HubPlace) -> None:
    on_hub.make_repo()
    publish_by_hand(on_hub.api, on_hub.repo, __gitignore="*.safetensors\n*.pdf\n")
    assert on_hub.push().status == 0
    assert on_hub.files == RELEASED


def test_a_card_that_the_hub_would_keep_as_a_large_file_is_never_tagged(on_hub: HubPlace) -> None:
    on_hub.make_repo()
    lines = "*.safetensors filter=lfs diff=lfs merge=lfs -text\n*.md filter=lfs diff=lfs merge=lfs -text\n"
    publish_by_hand(on_hub.api, on_hub.repo, __gitattributes=lines)
    on_hub.refused(on_hub.push(), '"README.md" is kept as a large file', status=1)
    publish_by_hand(on_hub.api, on_hub.repo, __gitattributes=lines.splitlines()[0] + "\n")
    mended = on_hub.push()
    assert mended.status == 0, mended.err
    assert "this continues a release that stopped at" in mended.err
    assert on_hub.tags == {"v1.0.0": on_hub.commits[0]}


def test_a_file_that_can_run_code_is_never_released(on_hub: HubPlace) -> None:
    (on_hub.place.checkpoint / "modeling.py").write_text("import os\n")
    on_hub.place.edit_recipe("report.pdf: document", "report.pdf: document\n    modeling.py: document")
    on_hub.refused(on_hub.push(), "can run code when it is loaded", status=1)


@pytest.mark.parametrize(
    ("settings", "args", "said"),
    [
        ('publish_to = "http://127.0.0.1:1"', [], "a server must be typed"),
        ('publish_to = "published"', [], 'zoo.toml: publish_to is "published"\n  -> write "dir:published"'),
        ('publish_to = "dir:published"', ["--pr"], "--pr is about a hub"),
        ("", ["--to", "http://hub.example.com"], "is not https"),
        ("", ["--to", "https://me:secret@hub.example.com"], "with a user name or a password in it"),
        ("", ["--to", "hf", "--private", "--public-when-done"], "contradict each other"),
        ("", ["--to", "hf", "--pr", "--gated", "auto"], "no settings of the repository"),
    ],
)
def test_wrong_usage_is_exit_2_with_the_next_action(
    on_hub: HubPlace, settings: str, args: list[str], said: str
) -> None:
    (on_hub.place.root / "zoo.toml").write_text(settings + "\n")
    ran = on_hub.place.push(*args)
    assert ran.status == 2
    assert said in ran.err
    assert "secret" not in ran.err


def test_hf_is_the_endpoint_that_the_user_set(on_hub: HubPlace) -> None:
    argv = [
        sys.executable,
        "-m",
        "zoo",
        "--zoo",
        str(on_hub.place.root),
        "release",
        "tiny",
        "--push",
        "--to",
        "hf",
    ]
    ran = subprocess.run(argv, env=on_hub.hub.env(), capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert f"{on_hub.url} can be written" in ran.stdout
    assert json.loads(on_hub.log)["target"] == on_hub.url
    assert on_hub.hub.token not in ran.stdout + ran.stderr
