"""Settings of the machine, and of the clone, that must not decide what git says of a change."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ci.example import Work
from zoo.ci import git
from zoo.errors import UnreadableError

Clone = Callable[[str], Work]


def test_attributes_of_the_machine_are_no_attributes_of_the_change(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = clone("main")
    attributes = tmp_path / "home" / "attributes"
    attributes.parent.mkdir()
    attributes.write_text("*.yaml ident\n")
    (tmp_path / "home" / ".gitconfig").write_text(f"[core]\n\tattributesFile = {attributes}\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    # The control: git itself takes them.
    said = subprocess.run(
        ["git", "check-attr", "ident", "recipes/fourth.yaml"],
        cwd=work.root,
        env={key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "recipes/fourth.yaml: ident: set\n"
    work.edit("recipes/fourth.yaml", "block_size: 4", "block_size: 4 # as trained")
    assert work.ci()["exit"] == 0
    work.write(".gitattributes", "*.yaml ident\n")
    assert work.ci()["exit"] == 1


@pytest.mark.parametrize("old_git", [False, True])
def test_what_a_partial_clone_lacks_is_not_fetched(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old_git: bool
) -> None:
    if old_git:  # before 2.39.4 and 2.45.1, git does not know GIT_NO_LAZY_FETCH
        known = git._environment
        monkeypatch.setattr(git, "_environment", lambda given: known(given) | {"GIT_NO_LAZY_FETCH": "0"})
    work = clone("main")
    work.git("config", "uploadpack.allowFilter", "true")
    work.git("config", "uploadpack.allowAnySHA1InWant", "true")
    partial = Work(tmp_path / "partial", work.keys)
    work.git("clone", "-q", "--filter=blob:none", "--no-checkout", work.root.as_uri(), str(partial.root))
    repository = git.Repository(partial.root)
    entry = repository.entries("HEAD")["recipes/fourth.yaml"]
    with pytest.raises(UnreadableError):
        repository.content(entry)
    assert partial.git("cat-file", "blob", entry.blob) == work.read("recipes/fourth.yaml")  # git fetches it
    assert repository.content(entry).decode() == work.read("recipes/fourth.yaml")
