"""The release process: one ordered list. Nothing is visible to others before ``tag``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass

from zoo.errors import PublishedNotRecordedError, ZooError
from zoo.release import attest, prepare, publish, seal
from zoo.release.context import Done, Release, Skip, skip
from zoo.release.journal import Ending, Journal


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
    # Over the manifest and all that it lists, with the digests that are known by now.
    Step("sign", "sign all files", attest.sign),
    # Into a hidden place of the target, comparing each copy with its source.
    Step("upload", "copy the files", publish.upload, writes=True),
    # One atomic commit on top of what preflight saw.
    Step("commit", "complete the hidden copy", publish.commit, writes=True),
    # What the target holds now, before anybody can see it; hashed again where it was there before.
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
        PublishedNotRecordedError: whatever stopped the run, also Ctrl-C, the version is visible by now.
    """
    plan, unrecorded = release.plan, False
    journal = (
        Journal(plan.zoo, plan.recipe.name, plan.recipe.version, plan.target.spec) if plan.push else None
    )
    if journal and journal.unfinished:
        if journal.unfinished.target == plan.target.spec:
            plan.note(f"this continues a release that {journal.unfinished.words}")
        else:
            plan.note(f"this goes to {plan.target.spec}; an earlier release {journal.unfinished.words}")
    try:
        for step in STEPS:
            dry = step.writes and not plan.push
            unrecorded = unrecorded or (step.name == "tag" and not dry)
            with (
                journal.step(step.name, lambda: release.facts) if journal else nullcontext(Ending()) as ending
            ):
                outcome = skip("dry run") if dry else step.run(release)
                ending.state = "done" if isinstance(outcome, Done) else "skipped"
            unrecorded = unrecorded and step.name != "record"
            tell(step, outcome)
        if journal:
            journal.finish()
    except (Exception, KeyboardInterrupt) as error:
        where = _published_at(release) if unrecorded else None
        if where is None:
            raise
        raise _not_recorded(release, where, error) from error
    finally:
        release.plan.target.abandon()


def _published_at(release: Release) -> str | None:
    """Where this very release can be seen, or None: a tag may stop before its moment, or after it."""
    target = release.plan.target
    with suppress(ZooError, OSError):
        found = target.lookup(release.plan.recipe.version)
        if found is not None and found.manifest.raw == release.manifest.raw:
            return target.show(found.ref)
    return None


def _not_recorded(release: Release, where: str, cause: BaseException) -> PublishedNotRecordedError:
    zoo, recipe = release.plan.zoo, release.plan.recipe
    interrupted = isinstance(cause, KeyboardInterrupt)
    why = str(cause) if isinstance(cause, (ZooError, OSError)) else repr(cause)
    error = PublishedNotRecordedError(
        f"{recipe.name} {recipe.version} IS published at {where}, and this run did not finish its "
        f"record in {zoo.shown(zoo.release_folder(recipe.name))}/: {'interrupted' if interrupted else why}",
        hint="run the same command again: it copies nothing, and records the release",
    )
    if interrupted:
        error.exit_status = 130
    return error
