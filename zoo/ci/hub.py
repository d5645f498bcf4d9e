"""A pull request on a hub (``refs/pr/N`` of a model repository), judged by the recipes of this zoo, and the
comment that says so there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date

from zoo import __version__
from zoo.card.render import card_path, render_card
from zoo.card.standing import read_standing
from zoo.checkpoint.content import read_up_to
from zoo.checkpoint.model import Checkpoint
from zoo.ci.affected import of_repository
from zoo.ci.compared import with_known
from zoo.ci.files import known_digests
from zoo.ci.model import Cause, ChangedFile, CiResult, DraftResult, Kind
from zoo.ci.outcomes import outcomes
from zoo.ci.versions import against_manifest
from zoo.diff.compare import compare
from zoo.diff.model import Diff
from zoo.diff.sides import recipe_side
from zoo.digests import FileDigest
from zoo.errors import UnreadableError, UsageError, ZooError
from zoo.evidence import load_evidence
from zoo.printable import quoted
from zoo.recipe.model import Recipe
from zoo.release import record
from zoo.release.paths import SIZE_LIMIT, read
from zoo.remote.address import Remote, parse_url
from zoo.remote.fork import Fork, fork_of
from zoo.remote.limits import TransientError
from zoo.remote.refusals import NotThereError
from zoo.results import Finding, Report, Where
from zoo.rules import Absent, Level
from zoo.sources import Sources
from zoo.verify import verify_recipe
from zoo.workspace import Zoo

_SPEC = re.compile(r"([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})#([1-9][0-9]{0,8})", re.ASCII)
_TOOL = f"draft-zoo {__version__}"
_CARD = "README.md"
_CODES = frozenset({"K001", "V001"})


def parse(spec: str) -> tuple[str, int]:
    """Repository and number of OWNER/NAME#N.

    Raises UsageError.
    """
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise UsageError(
            f"{quoted(spec)} is not a pull request of a hub", hint="write it like: --hub-pr owner/name#12"
        )
    return found[1], int(found[2])


def check_hub_change(zoo: Zoo, spec: str, remote: Remote, today: date) -> CiResult:
    """Judge what merging pull request ``spec`` would change: it is compared with main where it left it.

    Raises:
        UsageError: no recipe of the zoo has this repository.
        UnreadableError: the pull request cannot be read.
    """
    repo, number = parse(spec)
    names = of_repository(zoo, repo)
    if not names:
        raise UsageError(
            f"no recipe of this zoo has the repository {quoted(repo)}",
            hint=f"write one: zoo adopt hf://{repo}@refs/pr/{number} --name NAME",
        )
    with Sources(remote) as sources:
        change = f"hf://{repo}@refs/pr/{number}"
        after = _open_change(sources, repo, number, change, remote)
        tip = _open_main(sources, repo)
        fork = None if tip is None else fork_of(repo, f"refs/pr/{number}", remote)
        before = tip
        if fork is not None and tip is not None and fork.commit != tip.revision:
            before = sources.open(f"hf://{repo}@{fork.commit}")
        # What main has already is nothing that a merge would still do.
        changed = tuple(
            file for file in _changed(before, after) if before is tip or _differs(tip, after, file.path)
        )
        sides = _Sides(change, before, after, tip, changed)
        drafts = tuple(_draft(zoo, name, sides, sources, today) for name in names) if changed else ()
    return CiResult(
        base=_base(repo, tip, fork),
        base_ahead=0 if fork is None else fork.behind,
        base_commit="" if before is None else before.revision or "",
        head_commit=after.revision or "",
        dirty=False,
        changed=changed,
        tree=Report(str(Level.CHANGE), {"files": len(changed)}, (), tool=_TOOL),
        drafts=drafts,
        about=spec,
        tool=_TOOL,
    )


@dataclass(frozen=True)
class _Sides:
    """What a pull request (``change``, an hf:// source) is compared with. ``before``: the repository where it
    left main; ``after``: the pull request; ``tip``: main today; both None where main has no commit.
    ``changed``: what merging it would change."""

    change: str
    before: Checkpoint | None
    after: Checkpoint
    tip: Checkpoint | None
    changed: tuple[ChangedFile, ...]

    def merged(self, names: Iterable[str]) -> dict[str, FileDigest]:
        """The known digests of the files ``names``, as they are after the merge."""
        ours = {file.path for file in self.changed}
        untouched = self.after if self.tip is None else self.tip
        listed = list(names)
        return known_digests(self.after, [name for name in listed if name in ours]) | known_digests(
            untouched, [name for name in listed if name not in ours]
        )


def _open_change(sources: Sources, repo: str, number: int, change: str, remote: Remote) -> Checkpoint:
    try:
        return sources.open(change)
    except NotThereError as error:
        raise UnreadableError(
            f"there is no pull request {number} of {repo} (the hub answered 404)",
            hint=f"see: {_endpoint(remote)}/{repo}/discussions",
        ) from error


def _open_main(sources: Sources, repo: str) -> Checkpoint | None:
    """main, or None where nothing was committed to it yet."""
    try:
        return sources.open(f"hf://{repo}@main")
    except TransientError:
        raise
    except UnreadableError:
        return None


def _base(repo: str, tip: Checkpoint | None, fork: Fork | None) -> str:
    """What was compared with, in words."""
    if tip is not None and fork is None:
        return f"{repo} at main (where the pull request left it cannot be found in the last commits)"
    return f"{repo} at main"


def _changed(before: Checkpoint | None, after: Checkpoint) -> Iterator[ChangedFile]:
    """The files that differ, as far as sizes and known digests tell."""
    there = {} if before is None else before.files
    for path in sorted(there.keys() | after.files.keys()):
        if path not in there:
            yield ChangedFile(path, Kind.ADDED)
        elif path not in after.files:
            yield ChangedFile(path, Kind.REMOVED)
        elif _differs(before, after, path):
            yield ChangedFile(path, Kind.CHANGED)


def _differs(before: Checkpoint | None, after: Checkpoint, path: str) -> bool:
    """Whether a file, which may be missing, differs."""
    there = None if before is None else before.files.get(path)
    if before is None or there is None or there != after.files.get(path):
        return there != after.files.get(path)
    return known_digests(before, [path]) != known_digests(after, [path])


def _draft(zoo: Zoo, name: str, sides: _Sides, sources: Sources, today: date) -> DraftResult:
    run = verify_recipe(zoo, name, checkpoint=sides.change, sources=sources, today=today)
    recipe, after, before = run.subject.recipe, run.subject.checkpoint, sides.before
    causes = tuple(Cause(file.path, "file") for file in sides.changed)
    file = f"recipes/{name}.yaml"
    if recipe is None or after is None:
        return DraftResult(
            name, file, Kind.CHANGED, causes, run.report, not_compared="the recipe is not usable"
        )
    found, missing = list[Finding](), dict[str, Absent]()
    if recipe.version in {entry.version for entry in record.published(zoo, name)}:
        other, unknown = against_manifest(
            recipe, record.manifest_of(zoo, name, recipe.version), sides.merged(recipe.checkpoint.files)
        )
        found += other
        missing |= {} if unknown is None else {"V001": unknown}
    card, absent = _card(zoo, recipe, after, sides.changed)
    found += card
    missing |= {} if absent is None else {"K001": absent}
    paths = [each.path for each in sides.changed]
    results = outcomes(found, _CODES, paths, zoo.severity, missing)
    report = replace(run.report, results=(*run.report.results, *results))
    diff: Diff | None = None
    if before is not None:
        a, b = (
            recipe_side(recipe, before, name=f"{name} where the pull request left main"),
            recipe_side(recipe, after),
        )
        diff = compare(with_known(a, recipe), with_known(b, recipe))
    return DraftResult(name, file, Kind.CHANGED, causes, report, recipe.version, recipe.version, diff=diff)


def _card(
    zoo: Zoo, recipe: Recipe, after: Checkpoint, changed: tuple[ChangedFile, ...]
) -> tuple[list[Finding], Absent | None]:
    """K001 of a pull request that changes README.md: it must be the committed card, or the one that renders
    today."""
    kinds = {file.path: file.kind for file in changed}
    if _CARD not in kinds:
        return [], Absent("the change has no other README.md", required=False)
    if kinds[_CARD] is Kind.REMOVED:
        return [
            Finding("the card is removed", f"put it back: zoo card {recipe.name}", Where(_CARD), code="K001")
        ], None
    try:
        theirs = _read(after)
        if theirs == read(zoo, card_path(zoo, recipe)):
            return [], None
        standing = read_standing(zoo, recipe)
        evidence, _ = load_evidence(zoo, recipe, standing.checkpoint_digest)
        if theirs == render_card(zoo, recipe, evidence, standing).encode():
            return [], None
    except (ZooError, OSError) as error:
        return [], Absent(error.message if isinstance(error, ZooError) else str(error))
    hint = f"take the committed one: {zoo.shown(card_path(zoo, recipe))}; or: zoo card {recipe.name} --stdout"
    return [Finding("it is not the card of this recipe", hint, Where(_CARD), code="K001")], None


def _read(checkpoint: Checkpoint) -> bytes:
    assert checkpoint.opener is not None  # it is on a hub
    with checkpoint.opener(_CARD) as file:
        return read_up_to(file, SIZE_LIMIT)


def _endpoint(remote: Remote) -> str:
    """The hub, without a slash at its end."""
    from huggingface_hub import constants

    return str(parse_url(remote.endpoint or constants.ENDPOINT, "the endpoint")).rstrip("/")


def post(spec: str, body: str, mark: str, remote: Remote, note: Callable[[str], None]) -> str:
    """Say ``body``, which begins with ``mark``, in the pull request: in the comment of this user that begins
    so, if there is one, else in a new one. Returns what was done.

    Raises ZooError.
    """
    from huggingface_hub.community import DiscussionComment

    from zoo.release.targets.hub_client import HubClient

    repo, number = parse(spec)
    endpoint = _endpoint(remote)
    client = HubClient(endpoint, repo, remote.timeout, note)
    token = client.check_token()
    user = client.ask("who the token is of", lambda: client.api.whoami(token=token)["name"])

    def say() -> str:
        events = client.api.get_discussion_details(repo, number).events
        ours = [
            event
            for event in events
            if isinstance(event, DiscussionComment)
            and event.author == user
            and event.content.startswith(mark)
        ]
        if ours and ours[-1].content == body:
            return "the comment says so already"
        if ours:
            client.api.edit_discussion_comment(repo, number, ours[-1].id, body)
            return "updated the comment"
        client.api.comment_discussion(repo, number, body)
        return "posted a comment"

    done = client.ask(f"the comment in {quoted(spec)}", say)
    return f"{done}: {endpoint}/{repo}/discussions/{number}"
