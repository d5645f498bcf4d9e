"""Where a release is published: the one interface of all targets.

``upload`` and ``commit`` prepare something that nobody sees, ``read_back`` proves it, ``tag`` makes it
visible at once. Every call may be repeated: a run that was killed is finished, or undone, by the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zoo.errors import ReleaseRefusedError
from zoo.release.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Published:
    """A version that a target holds already: ``ref`` finds its content, which its ``manifest`` describes."""

    ref: str
    manifest: Manifest


class PublishingTarget(Protocol):
    """A place that holds released versions of one draft."""

    @property
    def spec(self) -> str:
        """The target as a person writes it, e.g. ``dir:published``. It is recorded in the log."""

    @property
    def pull_request(self) -> int:
        """The number of the pull request that ``commit`` opened, or 0."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What gives access to the target, and must not be in a release. Raises TargetUnusableError."""

    def preflight(self, nbytes: int) -> str:
        """Check, without changing anything, that ``nbytes`` more can be published. Returns the *base*: the
        state that the release will build on.

        Raises TargetUnusableError.
        """

    def lookup(self, version: str) -> Published | None:
        """The published ``version``, or None. Reads its manifest only; ``read_back`` proves the rest.

        Raises TargetUnusableError: there is something under this version that is no release.
        """

    def accept_card(self, card: bytes) -> None:
        """Let the target judge the card, before anything is transferred.

        Raises ReleaseRefusedError: it would not take it.
        """

    def upload(self, manifest: Manifest, files: Mapping[str, Path | bytes]) -> str:
        """Transfer ``files`` (path in the release -> content) to where nobody sees them, comparing each
        with ``manifest`` on the way. Returns what was done, in words.

        Raises UnreadableError: a file is not what was verified. OSError: a disk is full, and the like.
        """

    def commit(self, base: str) -> str:
        """Turn what was uploaded into one whole, on top of ``base``. Returns its ref.

        Raises ReleaseRefusedError: the target is not what ``preflight`` saw; somebody else published
        meanwhile.
        """

    def read_back(self, ref: str) -> Manifest:
        """Read everything under ``ref`` again and compare it with the manifest that lies there, which is
        returned.

        Raises ReleaseRefusedError: a file is missing, altered or not listed; the message names it.
        """

    def fetch(self, ref: str, path: str) -> bytes:
        """The content of one small file under ``ref``. Raises ReleaseRefusedError: there is none."""

    def tag(self, ref: str) -> str:
        """Make ``ref`` visible under its version, at once. Repeating it mends what a killed run left
        undone. Returns the ref that finds the version from now on."""

    def label(self, version: str) -> str:
        """The tag under which ``version`` is found, or "" where the ref says it all."""

    def proposed(self, number: int) -> Published | None:
        """What the pull request ``number`` proposes or became, or None if that is over."""

    def second_proposal(self, number: int, label: str) -> ReleaseRefusedError | None:
        """Why nothing else can be proposed as the version ``label`` beside the pull request ``number``; None
        if that is not open."""

    def finish(self) -> str:
        """What was asked to come last, after the record: e.g. to let everybody see it. Returns what was
        done, in words, or ""."""

    def show(self, ref: str) -> str:
        """Where a person finds ``ref``: a path or an address."""

    def abandon(self) -> None:
        """Remove what this run transferred and did not tag. Called at the end of every run, also after an
        error."""
