"""What a release is about (:class:`Plan`, frozen) and what its steps have found out so far
(:class:`Release`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zoo.digests import FileDigest
from zoo.errors import ZooError
from zoo.recipe.model import Recipe
from zoo.release.gates import Gate
from zoo.release.manifest import SIGNATURE, Manifest
from zoo.release.record import Entry
from zoo.release.targets import Published, PublishingTarget
from zoo.workspace import Zoo

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.evidence import Evidence
    from zoo.trust.keyless import Keyless
    from zoo.trust.keys import SigningKey
    from zoo.verify import Verification


@dataclass(frozen=True, slots=True)
class Plan:
    """What the person asked for. ``unchecked`` maps a gate to the reason why it may be missing."""

    zoo: Zoo
    recipe: Recipe
    target: PublishingTarget
    checkpoint: str | None = None
    push: bool = False
    unchecked: Mapping[str, str] = field(default_factory=dict)
    allow_standin: bool = False
    progress: Callable[[int], None] | None = None
    # A pull request instead of a version: tagged when it is merged.
    propose: bool = False
    sign_key: SigningKey | Keyless | None = None
    # A first release without a signature, in a zoo that has signers.
    unsigned: bool = False
    # Told what is no outcome of a step: what is continued, what is tried again.
    note: Callable[[str], None] = field(default=lambda text: None)


@dataclass
class Release:
    """The state of one run. A step sets its fields once, and later steps read them; their order is
    ``zoo.release.steps``."""

    plan: Plan
    # preflight
    checkpoint: Checkpoint = field(init=False)
    standin: bool = field(init=False)
    base: str = field(init=False)
    published: Published | None = field(init=False)
    entries: tuple[Entry, ...] = field(init=False)
    # stage: declared file -> identity on disk
    staged: Mapping[str, tuple[int, ...]] = field(init=False)
    # verify, gates
    verification: Verification = field(init=False)
    evidence: tuple[Evidence, ...] = field(init=False)
    gates: tuple[Gate, ...] = field(init=False)
    unchecked: Mapping[str, str] = field(init=False)
    # render, seal
    texts: Mapping[str, bytes] = field(init=False)
    manifest: Manifest = field(init=False)
    # sign
    signature: bytes | None = None
    # commit
    ref: str = field(init=False)
    # Reasons that would stop a push; a dry run collects them.
    refusals: list[ZooError] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, str]:
        """What is known by now that a journal keeps."""
        manifest = getattr(self, "manifest", None)
        known = {"base": getattr(self, "base", ""), "ref": getattr(self, "ref", "")}
        known["manifest_sha256"] = manifest.sha256 if manifest else ""
        return {name: value for name, value in known.items() if value}

    @property
    def written(self) -> Mapping[str, bytes]:
        """The files that the tool wrote, but the manifest."""
        return self.texts if self.signature is None else {**self.texts, SIGNATURE: self.signature}

    @property
    def declared(self) -> Mapping[str, FileDigest]:
        """The digests of the declared files, as the deep pass of ``verify`` computed them."""
        scan = self.verification.subject.scan
        return {} if scan is None else {name: scan.files[name] for name in self.staged}

    def refuse(self, error: ZooError) -> None:
        """Stop a push with ``error``. A dry run goes on, and says at its end what would have stopped it."""
        if self.plan.push:
            raise error
        self.refusals.append(error)


@dataclass(frozen=True, slots=True)
class Done:
    """A step did its work; ``proved`` says in a few words what is now known."""

    proved: str


@dataclass(frozen=True, slots=True)
class Skip:
    """A step had nothing to do, and why."""

    reason: str


def skip(reason: str) -> Skip:
    """What a step answers instead of doing nothing silently."""
    return Skip(reason)
