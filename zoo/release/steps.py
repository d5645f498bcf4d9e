"""The release process: one ordered list. Nothing is visible to others before ``tag``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zoo.release import prepare, publish, seal
from zoo.release.context import Done, Release, Skip, skip


@dataclass(frozen=True, slots=True)
class Step:
    """``writes``: the step changes the target or ``release/``, so that a dry run skips it."""

    name: str
    about: str
    run: Callable[[Release], Done | Skip]
    writes: bool = False


STEPS: tuple[Step, ...] = (
    # Everything cheap that can say no: files, links, secrets, stand-ins, the target, the version.
    Step("preflight", "can this be published at all", prepare.preflight),
    # The declared files and nothing else, pinned so that what is verified is what is published.
    Step("stage", "fix the list of files", prepare.stage),
    # Every byte is read once: rules, digests, NaN and Inf.
    Step("verify", "check recipe, files and every byte", prepare.verify),
    # A failing gate stops a push; a missing one needs --unchecked GATE=REASON.
    Step("gates", "weigh the gates that the recipe asks for", prepare.weigh),
    # The card and the notes, from recipe, evidence and gates.
    Step("render", "write card and notes", seal.render),
    # The manifest fixes name, version and every digest; a version that exists already must agree with it.
    Step("seal", "write the manifest", seal.seal),
    # Into a hidden place of the target, hashing on the way.
    Step("upload", "copy the files", publish.upload, writes=True),
    # One atomic commit on top of what preflight saw.
    Step("commit", "complete the hidden copy", publish.commit, writes=True),
    # Hash again what the target holds now, before anybody can see it.
    Step("read back", "compare the copy with the manifest", publish.read_back),
    # The moment of publication. Never moved, never replaced.
    Step("tag", "make the version visible", publish.tag, writes=True),
    # release/NAME/VERSION/ and the log, for the commit in git.
    Step("record", "write release/ in the zoo", publish.record, writes=True),
)


def run(release: Release, tell: Callable[[Step, Done | Skip], None]) -> None:
    """Run all steps in order and ``tell`` the outcome of each.

    Raises:
        ZooError: a step could not do its work or, with push, found a reason not to publish. What is then
            unfinished at the target is removed; so it is after Ctrl-C.
    """
    try:
        for step in STEPS:
            dry = step.writes and not release.plan.push
            tell(step, skip("dry run") if dry else step.run(release))
    finally:
        release.plan.target.abandon()
