"""A signed release on a hub, and a stranger who has its address and a public key."""
# ruff: noqa: F401, F811 - fixtures are imported, and named again as parameters

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.release.hub_place import HubPlace, hub, on_hub, proxied
from tests.release.hub_proxy import Proxy
from tests.trust.conftest import Keys
from zoo.trust.signing import made_by


def stranger(
    on_hub: HubPlace,
    author: Keys,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *args: str,
    address: str = "",
) -> Ran:
    """Verify the version from an empty folder."""
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    source = f"hf://{address or f'{on_hub.repo}@v1.0.0'}"
    trusted = ("--endpoint", on_hub.hub.url, "--signature", "--key", str(author.public))
    return on_hub.place.run("verify", source, *trusted, *args)


def test_a_stranger_verifies_a_signed_release_and_every_byte_of_it(
    on_hub: HubPlace, author: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = on_hub.push("--sign-key", str(author.private))
    assert ran.status == 0, ran.out + ran.err
    assert "model.sig" in on_hub.files
    by_header = stranger(on_hub, author, tmp_path / "clean", monkeypatch)
    assert by_header.status == 0, by_header.out + by_header.err
    assert "7 files; the sha256 of model.safetensors as reported by the hub" in by_header.out
    deep = stranger(on_hub, author, tmp_path / "clean", monkeypatch, "--deep")
    assert deep.status == 0, deep.out + deep.err
    assert "as reported by the hub" not in deep.out


def test_releasing_a_signed_version_again_changes_nothing(on_hub: HubPlace, author: Keys) -> None:
    signed = ("--sign-key", str(author.private))
    assert on_hub.push(*signed).status == 0
    before = on_hub.commits, on_hub.tags, on_hub.log
    again = on_hub.push(*signed)
    assert (again.status, "skipped: published already, signed" in again.out) == (0, True)
    assert (on_hub.commits, on_hub.tags, on_hub.log) == before


def test_a_commit_without_its_tag_keeps_the_signature_of_the_run_that_made_it(
    proxied: tuple[HubPlace, Proxy], author: Keys, stranger: Keys
) -> None:
    on_hub, proxy = proxied
    proxy.break_once("/tag/", "403")
    assert on_hub.push("--sign-key", str(author.private)).status == 2
    ran = on_hub.push("--sign-key", str(stranger.private))
    key = hashlib.sha256(author.public.read_bytes()).hexdigest()[:12]
    assert ran.status == 0, ran.err
    assert f"it was made before, signed by the key with sha256 {key}… (another than" in ran.out
    record = on_hub.place.root / "release/tiny/1.0.0/model.sig"
    assert made_by(record.read_bytes()) == f"the key with sha256 {key}…"
    assert on_hub.tags == {"v1.0.0": on_hub.commits[0]}


def test_a_signature_that_cannot_be_fetched_is_not_called_missing(
    proxied: tuple[HubPlace, Proxy], author: Keys
) -> None:
    on_hub, proxy = proxied
    signed = ("--sign-key", str(author.private))
    assert on_hub.push(*signed).status == 0
    proxy.break_once("/model.sig", "403")
    ran = on_hub.push(*signed)
    assert (ran.status, "the hub answered 403" in ran.err) == (2, True), ran.err
    assert "without a signature" not in ran.err


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "manifest.json", "model.sig", "extra.md"]
)
def test_a_file_that_somebody_changed_under_a_moved_tag_is_named(
    on_hub: HubPlace, author: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert on_hub.push("--sign-key", str(author.private)).status == 0
    raw = b"{}"
    if name != "extra.md":
        raw = (
            bytearray((on_hub.place.root / "checkpoint" / name).read_bytes())
            if name
            in (
                "config.json",
                "model.safetensors",
            )
            else bytearray((on_hub.place.root / "release/tiny/1.0.0" / name).read_bytes())
        )
        raw[-2] ^= 1
    on_hub.api.upload_file(path_or_fileobj=bytes(raw), path_in_repo=name, repo_id=on_hub.repo)
    on_hub.api.delete_tag(on_hub.repo, tag="v1.0.0")
    on_hub.api.create_tag(on_hub.repo, tag="v1.0.0")
    ran = stranger(on_hub, author, tmp_path / "clean", monkeypatch, "--deep")
    assert ran.status == 1
    code = "P001" if name == "model.sig" else "P002"
    assert f'error {code} "{name}":' in ran.out


@pytest.mark.parametrize("tag", ["v1.1.0", "v0.9.0", "1.1.0"])
def test_a_signed_release_under_the_tag_of_another_version_is_refused(
    on_hub: HubPlace, author: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str
) -> None:
    assert on_hub.push("--sign-key", str(author.private)).status == 0
    on_hub.api.create_tag(on_hub.repo, tag=tag)
    on_hub.api.create_branch(on_hub.repo, branch="stable")
    for revision in ("v1.0.0", "stable", on_hub.tags["v1.0.0"]):
        address = f"{on_hub.repo}@{revision}"
        assert stranger(on_hub, author, tmp_path / "clean", monkeypatch, address=address).status == 0
    ran = stranger(on_hub, author, tmp_path / "clean", monkeypatch, address=f"{on_hub.repo}@{tag}")
    assert ran.status == 1, ran.out + ran.err
    assert f'error P003 "manifest.json": it is of version 1.0.0, and "{tag}" was asked for' in ran.out


def test_a_signed_release_that_was_copied_to_another_repository_is_refused(
    on_hub: HubPlace, author: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert on_hub.push("--sign-key", str(author.private)).status == 0
    there = on_hub.api.snapshot_download(on_hub.repo, local_dir=tmp_path / "copy")
    other = f"{on_hub.repo}-other"
    on_hub.api.create_repo(other)
    on_hub.api.upload_folder(repo_id=other, folder_path=there, ignore_patterns=[".cache/**"])
    for address in (other, f"{other}@main"):
        ran = stranger(on_hub, author, tmp_path / "clean", monkeypatch, address=address)
        assert ran.status == 1, ran.out + ran.err
        said = f'it is of the repository "{on_hub.repo}", and this is "{other}"'
        assert f'error P003 "manifest.json": {said}' in ran.out


def test_a_log_that_gives_a_version_the_manifest_of_another_is_seen(on_hub: HubPlace, author: Keys) -> None:
    assert on_hub.push("--sign-key", str(author.private)).status == 0
    recorded = on_hub.place.root / "release/tiny"
    (recorded / "log.jsonl").write_text(on_hub.log.replace("1.0.0", "1.1.0"))
    (recorded / "1.0.0").rename(recorded / "1.1.0")
    trusted = ("--endpoint", on_hub.hub.url, "--signature", "--key", author.public)
    ran = on_hub.place.run("--zoo", on_hub.place.root, "verify", "tiny@1.1.0", *trusted)
    assert ran.status == 1, ran.out + ran.err
    said = 'error P003 "manifest.json": it is of "tiny@1.0.0", and "tiny@1.1.0" was asked for'
    assert said in ran.out, ran.out + ran.err
