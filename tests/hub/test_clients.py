"""The real client against the real server: the probes, the command ``hf``, and another version of the client.

``make`` runs the installed version. Another one: ``ZOO_OTHER_CLIENT=/path/to/python pytest tests/hub``, the
interpreter of an environment with that huggingface_hub.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.corpus.kit import good_draft
from tests.hub.server import HubProcess

PROBE = Path(__file__).parent / "probe.py"
PROBES = "".join((PROBE.parent / name).read_text() for name in ("probe_files.py", "probe_people.py"))
OTHER = os.environ.get("ZOO_OTHER_CLIENT", "")


def probe(hub: HubProcess, interpreter: str, repo: str) -> str:
    """What the probes print; fails if one did."""
    tokens = {"READ_TOKEN": hub.read_token, "STRANGER_TOKEN": hub.stranger_token}
    argv = [interpreter, str(PROBE), repo]
    ran = subprocess.run(argv, env=hub.env() | tokens, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_installed_client_can_do_all_that_a_release_does(hub: HubProcess) -> None:
    out = probe(hub, sys.executable, "acme/probe")
    assert out.count("\nok ") == PROBES.count("\ndef probe_") > 30


@pytest.mark.skipif(not OTHER, reason="ZOO_OTHER_CLIENT names no interpreter")
def test_another_version_of_the_client_can_too(hub: HubProcess) -> None:
    probe(hub, OTHER, "acme/probe-other")


def hf(hub: HubProcess, *args: str | Path, status: int = 0) -> str:
    """Run ``hf ARGS``; what it prints."""
    command = Path(sys.executable).parent / "hf"
    argv = [str(command), *(str(arg) for arg in args)]
    ran = subprocess.run(argv, env=hub.env(), capture_output=True, text=True, timeout=120)
    assert ran.returncode == status, f"hf {args}: {ran.stdout}{ran.stderr}"
    return ran.stdout + ran.stderr


@pytest.mark.skipif(not (Path(sys.executable).parent / "hf").exists(), reason="no hf beside this interpreter")
def test_the_hf_command_works(hub: HubProcess, repo: str, tmp_path: Path) -> None:
    folder = tmp_path / "draft"
    folder.mkdir()
    weights = os.urandom(2_000_000)
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# draft\n")
    hf(hub, "upload", repo, folder, ".", "--commit-message", "by hf")
    hf(hub, "download", repo, "--local-dir", tmp_path / "down")
    down = (tmp_path / "down" / "model.safetensors").read_bytes()
    assert hashlib.sha256(down).digest() == hashlib.sha256(weights).digest()
    hf(hub, "repos", "tag", "create", repo, "v1.0.0", "-m", "first")
    assert "v1.0.0" in hf(hub, "repos", "tag", "list", repo)
    hf(hub, "upload", repo, folder / "README.md", "docs/card.md", "--create-pr")
    assert "docs/card.md" in hf(hub, "discussions", "diff", repo, "1")
    hf(hub, "discussions", "merge", repo, "1", "--yes")
    pull = tmp_path / "pull"
    hf(hub, "download", repo, "docs/card.md", "--revision", "refs/pr/1", "--local-dir", pull)
    assert (pull / "docs" / "card.md").exists()


def test_zoo_itself_reads_and_pulls_from_it(
    hub: HubProcess, repo: str, tmp_path: Path, run_zoo: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", hub.read_token)
    good_draft(tmp_path / "draft")
    api = hub.api()
    api.update_repo_settings(repo, private=True)
    api.upload_folder(repo_id=repo, folder_path=tmp_path / "draft")
    api.create_tag(repo, tag="v1.0.0")
    source, endpoint = f"hf://{repo}@v1.0.0", ("--endpoint", hub.url)
    ran = run_zoo("verify", source, *endpoint, "--deep")
    assert ran.status == 0, ran.out + ran.err
    assert str(api.repo_info(repo).sha) in ran.out
    ran = run_zoo("pull", source, *endpoint, "--out", tmp_path / "pulled")
    assert ran.status == 0, ran.out + ran.err
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("draft", "pulled")]
    assert weights[0] == weights[1]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_git_itself_finds_nothing_wrong_with_a_repository(hub: HubProcess, repo: str) -> None:
    api = hub.api()
    api.upload_file(repo_id=repo, path_in_repo="a/b.txt", path_or_fileobj=b"1", commit_message="one")
    api.upload_file(repo_id=repo, path_in_repo="a.safetensors", path_or_fileobj=b"2" * 5000)
    api.create_tag(repo, tag="v1", tag_message="said with it")
    api.upload_file(repo_id=repo, path_in_repo="a-c/d.txt", path_or_fileobj=b"3", create_pr=True)

    def git(*args: str) -> str:
        folder = str(hub.folder / "repos" / repo)
        argv = ["git", "-C", folder, "-c", f"safe.directory={folder}", *args]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    assert git("fsck", "--full", "--strict", "--no-dangling") == ""
    assert git("log", "--format=%s").splitlines() == [
        "Upload a.safetensors with huggingface_hub",
        "one",
        "initial commit",
    ]
    assert "said with it" in git("cat-file", "tag", "v1")
    assert git("rev-parse", "refs/pr/1").strip() == api.repo_info(repo, revision="refs/pr/1").sha
