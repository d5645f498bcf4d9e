"""What time has left behind: engine pins and evidence older than what is known, targets that moved on,
waivers that end. Information for whoever plans the next release; nothing here says that a draft is broken.

What only the hub knows is asked by the function ``newest`` that the caller gives, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from packaging.version import Version

from zoo.engines.hazards import ENGINE_NAMES
from zoo.engines.options import snapshots
from zoo.engines.readings import KNOWN
from zoo.errors import UnreadableError, ZooError
from zoo.evidence import Evidence, load_evidence
from zoo.printable import quoted
from zoo.recipe.load import load_recipe
from zoo.recipe.model import ModelRef, Profile, Recipe
from zoo.release import record
from zoo.release.events import released, withdrawn
from zoo.results import Outcome, Where
from zoo.workspace import Zoo

# The commit of main of a repository OWNER/NAME; raises UnreadableError.
Newest = Callable[[str], str]
_ON_ENGINE = ("smoke", "bench")


class Kind(StrEnum):
    """What is outdated."""

    ENGINE = "engine"
    TARGET = "target"
    WAIVER = "waiver"
    EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True)
class Outdated:
    """One thing of ``recipe`` that is no longer the newest, and what to do about it."""

    recipe: str
    kind: Kind
    message: str
    hint: str
    where: Where

    def as_json(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe,
            "kind": str(self.kind),
            "message": self.message,
            "hint": self.hint,
            "where": self.where.as_json(),
        }


@dataclass(frozen=True, slots=True)
class NotChecked:
    """What nobody could tell, and why. ``required``: it was asked for."""

    recipe: str
    about: str
    reason: str
    required: bool

    def as_json(self) -> dict[str, Any]:
        return {each: getattr(self, each) for each in self.__slots__}


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found in ``recipes``. Exit status 2: something that was asked for could not be looked at."""

    recipes: tuple[str, ...]
    outdated: tuple[Outdated, ...]
    not_checked: tuple[NotChecked, ...]

    @property
    def exit_status(self) -> int:
        return 2 if any(each.required for each in self.not_checked) else 0

    @property
    def up_to_date(self) -> tuple[str, ...]:
        """The recipes of which nothing is outdated and everything that was asked for was looked at."""
        said = {each.recipe for each in self.outdated}
        said |= {each.recipe for each in self.not_checked if each.required}
        return tuple(name for name in self.recipes if name not in said)

    def as_json(self) -> dict[str, Any]:
        """The survey as ``zoo-outdated/1`` (``zoo/schemas/zoo-outdated-1.json``)."""
        return {
            "schema": "zoo-outdated/1",
            "recipes": list(self.recipes),
            "outdated": [each.as_json() for each in self.outdated],
            "not_checked": [each.as_json() for each in self.not_checked],
            "exit": self.exit_status,
        }


def survey(zoo: Zoo, names: Iterable[str], *, today: date, days: int, newest: Newest | None) -> Survey:
    """Look at the recipes ``names``. Waivers that end within ``days`` of ``today`` are among what is
    outdated. Without ``newest``, nobody is asked for the newest revision of a target.

    Raises NoSuchRecipeError.
    """
    names = tuple(names)
    found: list[Outdated] = []
    missing: list[NotChecked] = []
    asked = None if newest is None else _once(newest)
    for name in names:
        loaded = load_recipe(zoo, name)
        if loaded.recipe is None:
            reason = f"the recipe cannot be used; see: zoo verify {name}"
            missing.append(NotChecked(name, "recipe", reason, required=True))
            continue
        for part in (
            _engines_and_evidence(zoo, loaded.recipe),
            _released_target(zoo, loaded.recipe),
            _targets(loaded.recipe, asked),
            _waivers(loaded.recipe, today, days),
        ):
            for each in part:
                if isinstance(each, NotChecked):
                    missing.append(each)
                else:
                    found.append(each)
    return Survey(names, tuple(found), tuple(missing))


def newest_engines() -> Mapping[str, Version]:
    """The newest version of each engine that this zoo knows anything of: a reading, or its flags."""
    found: dict[str, Version] = {}
    for engine, text in (*KNOWN, *snapshots()):
        version = Version(text)
        found[engine] = max(version, found.get(engine, version))
    return found


def _once(newest: Newest) -> Newest:
    """``newest``, asked once for each repository; an error is given again."""
    answers: dict[str, str | UnreadableError] = {}

    def ask(repo: str) -> str:
        if repo not in answers:
            try:
                answers[repo] = newest(repo)
            except UnreadableError as error:
                answers[repo] = error
        answer = answers[repo]
        if isinstance(answer, UnreadableError):
            raise answer
        return answer

    return ask


def _engines_and_evidence(zoo: Zoo, recipe: Recipe) -> Iterator[Outdated | NotChecked]:
    try:
        records, refused = load_evidence(zoo, recipe)
    except ZooError as error:  # nothing here can check signatures, or a key cannot be used
        yield NotChecked(recipe.name, "evidence", f"{error.message}: {error.hint}", required=True)
        records, refused = (), ()
    for finding in refused:
        yield Outdated(recipe.name, Kind.EVIDENCE, finding.message, finding.hint, finding.where)
    for profile in recipe.profiles:
        yield from _engine(recipe, profile, records)
    for each in records:
        if each.stale:
            file = zoo.release_folder(recipe.name, recipe.version) / "evidence" / f"{each.name}.json"
            yield Outdated(
                recipe.name,
                Kind.EVIDENCE,
                f"{each.name} of {recipe.version} does not count any more: {each.stale}",
                "record it again, or take back what changed",
                Where(zoo.shown(file)),
            )


def _engine(recipe: Recipe, profile: Profile, records: Iterable[Evidence]) -> Iterator[Outdated]:
    """A profile whose engine nobody has read, or is older than the newest that was."""
    title = f"{ENGINE_NAMES.get(profile.engine, profile.engine)} {profile.version}"
    newest = newest_engines().get(profile.engine)
    where = profile.where("/engine")
    read = (profile.engine, str(profile.version)) in KNOWN
    if not read:
        message = f"profile {profile.name} pins {title}, and nobody has read what that makes of a draft"
        known = ", ".join("==".join(pair) for pair in KNOWN)
        hint = f"pin one of {known}; docs/engines.md says how to add one"
        yield Outdated(recipe.name, Kind.ENGINE, message, hint, where)
    if newest is None or newest <= profile.version:
        return
    served = [
        each.name
        for each in records
        if each.kind in _ON_ENGINE
        and each.subject == profile.name
        and each.outcome is Outcome.PASSED
        and not each.stale
    ]
    by = f" and was served with it ({', '.join(served)})" if served else ""
    old, new = f"{profile.engine}=={profile.version}", f"{profile.engine}=={newest}"
    hint = f"add a profile with engine: {new}"
    if read:
        hint = f"see what it changes: zoo impact {old}..{newest}; then {hint}"
    yield Outdated(
        recipe.name,
        Kind.ENGINE,
        f"profile {profile.name} pins {title}{by}; the newest that zoo knows is {newest}",
        hint,
        where,
    )


def _released_target(zoo: Zoo, recipe: Recipe) -> Iterator[Outdated | NotChecked]:
    """The target revision that the last release was made for, if that is no longer the recipe's."""
    try:
        gone = withdrawn(zoo, recipe.name)
        versions = [version for version in released(zoo, recipe.name) if version not in gone]
        manifest = record.manifest_of(zoo, recipe.name, versions[-1]) if versions else None
    except ZooError as error:
        yield NotChecked(recipe.name, "release", f"{error.message}: {error.hint}", required=True)
        return
    if manifest is None:
        return
    made_for, now = manifest.document["target"], recipe.target.repo
    if (made_for["repo"], made_for["revision"]) != (now.path, now.revision):
        before = _shown(ModelRef(made_for["repo"], made_for["revision"]))
        yield Outdated(
            recipe.name,
            Kind.TARGET,
            f"release {versions[-1]} was made for {before}; the target file says {_shown(now)}",
            "verify and measure the draft against it, then release a new version",
            recipe.target.where("/revision"),
        )


def _targets(recipe: Recipe, newest: Newest | None) -> Iterator[Outdated | NotChecked]:
    """The target, and what is really served, against their repositories."""
    target = recipe.target
    places = {"/revision": target.repo}
    if target.served != target.repo:
        places["/served_as/revision"] = target.served
    for pointer, ref in places.items():
        if ref.path.startswith("./"):
            continue  # a folder of this zoo: its own commit pins it
        about = f"newest revision of {ref.path}"
        if ref.revision is None:
            yield NotChecked(recipe.name, about, "the target file pins no commit (R021)", required=False)
        elif newest is None:
            yield NotChecked(recipe.name, about, "the hub is asked with --online only", required=False)
        else:
            try:
                commit = newest(ref.path)
            except UnreadableError as error:
                yield NotChecked(recipe.name, about, f"{error.message}: {error.hint}", required=True)
                continue
            if commit != ref.revision:
                yield Outdated(
                    recipe.name,
                    Kind.TARGET,
                    f"{quoted(ref.path)} is at {commit[:12]}; the target file pins {ref.revision[:12]}",
                    "look at what changed; a draft belongs to the revision that it was trained for",
                    target.where(pointer),
                )


def _waivers(recipe: Recipe, today: date, days: int) -> Iterator[Outdated]:
    for index, waiver in enumerate(recipe.waivers):
        left = (waiver.until - today).days
        if left > days:
            continue
        when = f"ended on {waiver.until}" if left < 0 else f"ends on {waiver.until}, in {left} days"
        message = f"the waiver of {waiver.code} {when}: {waiver.reason}"
        where = recipe.where(f"/waivers/{index}/until")
        yield Outdated(recipe.name, Kind.WAIVER, message, "mend the cause, or renew it with a reason", where)


def _shown(ref: ModelRef) -> str:
    return f"{quoted(ref.path)} at {ref.revision[:12] if ref.revision else 'no pinned commit'}"
