"""The commit of a zoo, and whether what a release is made of differs from it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

from zoo.workspace import Zoo

UNKNOWN = "unknown"
_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Commit:
    """``commit`` in hex. ``dirty``: recipes, templates or settings are not those of the commit."""

    commit: str = UNKNOWN
    dirty: bool | str = UNKNOWN


def commit_of(zoo: Zoo) -> Commit:
    """The commit of ``zoo``; unknown where there is no git, no repository or no commit.

    ``release/`` does not count: a release writes there itself, and evidence is bound by its digests.
    """
    commit = _git(zoo, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return Commit()
    paths = [zoo.recipes, zoo.templates, zoo.settings_file]
    changed = _git(zoo, "status", "--porcelain", "--untracked-files=all", "--", *map(str, paths))
    return Commit(commit.strip(), UNKNOWN if changed is None else bool(changed.strip()))


def _git(zoo: Zoo, *args: str) -> str | None:
    """What ``git ARGS`` prints in the zoo, or None if it fails. Nothing that the repository could name is
    run, and nothing is written (git status would refresh the index)."""
    quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", str(zoo.root)]
    # Nor does it get a token: it needs none.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") and "TOKEN" not in name
    }
    try:
        ran = subprocess.run(
            ["git", "--no-optional-locks", *quiet, *args],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env=environment,
            check=True,
        )
    except (OSError, UnicodeDecodeError, subprocess.SubprocessError):
        return None
    return ran.stdout
