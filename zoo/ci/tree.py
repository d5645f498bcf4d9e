"""The rules about a change as a whole: released files, logs, settings, names of files."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from zoo.ci import names
from zoo.ci.affected import References, is_of_zoo
from zoo.ci.attributes import rewritten
from zoo.ci.base import SETTINGS, BaseZoo
from zoo.ci.git import Repository
from zoo.ci.model import Cause, ChangedFile, Kind
from zoo.ci.outcomes import outcomes
from zoo.ci.recipes import removed, shared_repositories
from zoo.errors import ZooError
from zoo.printable import printable, quoted
from zoo.recipe.load import reference_findings
from zoo.recipe.names import is_name
from zoo.release import events, record
from zoo.release.paths import read
from zoo.release.record import Entry
from zoo.results import CheckResult, Finding, Outcome, Where
from zoo.workspace import Zoo

CODES = frozenset({"V003", "V004", "V005", "V006", "V011", "V013", "V014", "V015", "V017", "V018", "V020"})
_LOG = "log.jsonl"
# Who may change these may switch the gate off, or say who must agree to it.
_OWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
GATE = (".github/workflows", ".github/actions", ".pre-commit-config.yaml", *_OWNERS)
# What may come to the folder of a published version.
_ADDED = (".json", ".json.sig")
_APPEND = "the log is append-only; restore the lines, and add new ones at the end"


@dataclass(frozen=True)
class Tree:
    """``head``: the zoo of the change under its own settings. ``changed``: all its files; ``used``: those
    that a recipe depends on; ``above``: files of the gate, where the zoo is the folder ``prefix`` of the
    repository; ``causes``: the recipes that the change affects."""

    head: Zoo
    base: BaseZoo
    changed: tuple[ChangedFile, ...]
    used: frozenset[str]
    above: tuple[ChangedFile, ...]
    prefix: str
    references: References
    causes: Mapping[str, tuple[Cause, ...]]

    def results(self) -> tuple[CheckResult, ...]:
        ours = self._of_zoo()
        drafts = sorted({path.split("/")[1] for path in (file.path for file in ours) if _is_record(path)})
        found = [finding for name in drafts for finding in self._release(name)]
        found += self._settings()
        found += shared_repositories(self.references, self.causes)
        if not self.head.recipes.is_symlink():  # V013 says it of all of them
            found += removed(self.references, self.base, self.changed)
        found += names.links(self.head.root, ours)
        found += names.hostile(ours, self._paths())
        found += names.secrets(self.head.root, self.changed)
        found += rewritten(Repository(self.head.root), self._judged())
        return (
            *self._unused(),
            *outcomes(found, CODES, [file.path for file in ours], self.base.zoo.severity),
        )

    def _unused(self) -> Iterator[CheckResult]:
        """What is wrong with target files and profiles that no recipe uses, by code: no recipe says so."""
        found: dict[str, list[Finding]] = {}
        for file in self.changed:
            match file.path.split("/"):
                case ["recipes", "targets" | "profiles" as folder, name] if name.endswith(".yaml"):
                    if file.path not in self.used and file.kind is not Kind.REMOVED:
                        for finding in reference_findings(self.head, folder, name.removesuffix(".yaml")):
                            found.setdefault(finding.code, []).append(finding)
        for code in sorted(found):
            yield CheckResult(code, Outcome.FAILED, findings=tuple(found[code]))

    def _of_zoo(self) -> list[ChangedFile]:
        """The changed files that are part of the zoo: by their place, settings and keys, and what a recipe
        names."""
        own = {*map(names.folded, (*SETTINGS, *self._keys())), *self.used}
        return [
            file
            for file in self.changed
            if is_of_zoo(file.path) or file.path in self.used or names.folded(file.path) in own
        ]

    def _keys(self) -> dict[str, str]:
        """The file of every key, and whose it is."""
        zoos = (self.base.zoo, self.head)
        return {posixpath.normpath(each.key): each.name for zoo in zoos for each in zoo.signers if each.key}

    def _judged(self) -> set[str]:
        """Every file after the change that a verdict may rest on: of the zoo by its place, settings, keys,
        and what lies in a folder with weights or a config."""
        gone = {file.path for file in self.changed if file.kind is Kind.REMOVED}
        files = {*self.base.entries, *(file.path for file in self.changed)} - gone
        drafts = {posixpath.dirname(path) for path in files if path.endswith((".safetensors", "config.json"))}
        own = {*map(names.folded, (*SETTINGS, *self._keys()))}
        return {
            path
            for path in files
            if is_of_zoo(path) or names.folded(path) in own or posixpath.dirname(path) in drafts
        }

    def _paths(self) -> set[str]:
        gone = {file.path for file in self.changed if file.kind is Kind.REMOVED}
        there = {path for path in self.base.entries if is_of_zoo(path) or path in SETTINGS}
        return (there | {file.path for file in self.changed}) - gone

    def _release(self, name: str) -> Iterator[Finding]:
        """V003 to V006 of one draft."""
        published = record.published(self.base.zoo, name) if self.base.release(name) else ()
        frozen = list(self._frozen(name, {entry.version for entry in published}))
        yield from frozen
        log = list(self._log(name, published))
        yield from log
        if not log:
            touched = {str(finding.where.file).split("/")[2] for finding in frozen}
            yield from self._contradictions(name, published, touched)

    def _frozen(self, name: str, versions: set[str]) -> Iterator[Finding]:
        for file in self.changed:
            match file.path.split("/"):
                case ["release", found, version, *rest] if found == name and version in versions and rest:
                    added = (
                        file.kind is Kind.ADDED and file.path.endswith(_ADDED) and rest[:-1] == ["evidence"]
                    )
                    if not added:
                        message = f"{name} {version} is published, and this file of it is {file.kind}"
                        hint = "restore it; what is to change needs a new version"
                        yield Finding(message, hint, Where(file.path), code="V003")

    def _log(self, name: str, published: tuple[Entry, ...]) -> Iterator[Finding]:
        """V004 and V005: the log begins with what was there, and no publication moves."""
        shown = f"release/{name}/{_LOG}"
        before = self.base.read(shown) or b""
        try:
            after = read(self.head, self.head.root / shown) or b""
            entries = record.published(self.head, name)
        except ZooError as error:
            code = "V004" if before else "V006"
            yield Finding(printable(error.message, keep=""), error.hint, Where(shown), code=code)
            return
        known: dict[tuple[str, str], Entry] = {}
        for entry in (*published, *entries):
            first = known.setdefault((entry.version, entry.target), entry)
            if (first.ref, first.manifest_sha256) != (entry.ref, entry.manifest_sha256):
                what = "at another commit" if first.ref != entry.ref else "other files"
                message = (
                    f"{name} {entry.version} at {quoted(entry.target)} is said to be {what}: "
                    f"{quoted(entry.ref, 60)} (manifest {entry.manifest_sha256[:12]}…), and was published as "
                    f"{quoted(first.ref, 60)} (manifest {first.manifest_sha256[:12]}…)"
                )
                hint = "a tag never moves; release other files as a new version"
                line = _line(after, entry.ref)
                yield Finding(message, hint, Where(shown, line, 1 if line else None), code="V005")
                return
        if not after.startswith(before):
            lines = zip(before.splitlines(), after.splitlines(), strict=False)
            same = sum(1 for _ in _until_different(lines))
            message = f"the log does not begin with the {len(before.splitlines())} lines that the base has"
            yield Finding(message, _APPEND, Where(shown, same + 1 if after else None), code="V004")

    def _contradictions(
        self, name: str, published: tuple[Entry, ...], touched: set[str]
    ) -> Iterator[Finding]:
        """V006, but for versions of which a changed file is reported already."""
        shown = f"release/{name}/{_LOG}"
        try:
            events.events(self.head, name)
            proposed = {each.version for each in record.proposed(self.head, name)}
        except ZooError as error:
            yield Finding(printable(error.message, keep=""), error.hint, Where(shown), code="V006")
            return
        entries = record.published(self.head, name)
        for entry in entries:
            if entry.version in touched or (entry in published and not self._touches(name, entry.version)):
                continue
            try:
                if record.frozen(self.head, name, entry) is None:
                    raise record.lost(self.head, name, entry)
            except ZooError as error:
                place = Where(f"release/{name}/{entry.version}/manifest.json")
                yield Finding(printable(error.message, keep=""), error.hint, place, code="V006")
        said = {entry.version for entry in entries} | proposed
        for file in self.changed:
            match file.path.split("/"):
                case ["release", found, version, "manifest.json"] if found == name and version not in said:
                    if file.kind is not Kind.REMOVED:
                        message = f"the log does not say that {name} {version} was published or proposed"
                        hint = "zoo release writes both; remove the manifest, or add its line to the log"
                        yield Finding(message, hint, Where(file.path), code="V006")

    def _touches(self, name: str, version: str) -> bool:
        return any(file.path.startswith(f"release/{name}/{version}/") for file in self.changed)

    def _settings(self) -> Iterator[Finding]:
        """V011: each setting that differs, and each key of a signer."""
        file = self.head.shown(self.head.settings_file)
        hint = "the change is judged by the settings of the base; after the merge these count"
        for field in fields(Zoo):
            if field.name in ("root", "settings_file", "trust_root"):
                continue
            before, after = (getattr(zoo, field.name) for zoo in (self.base.zoo, self.head))
            if before != after:
                message = f"setting {field.name} was {_said(before)} and becomes {_said(after)}"
                yield Finding(message, hint, Where(file, self._setting_line(field.name)), code="V011")
        keys = self._keys()
        for changed in self.changed:
            if changed.path in keys:
                message = f"the key of signer {quoted(keys[changed.path])} is {changed.kind}"
                yield Finding(message, hint, Where(changed.path), code="V011")
            # GitHub reads these at the top of a repository only, which is ``above`` then.
            elif not self.prefix and any(
                changed.path == each or changed.path.startswith(f"{each}/") for each in GATE
            ):
                yield _of_gate(changed, Where(changed.path))
        for changed in self.above:
            yield _of_gate(changed, Where())

    def _setting_line(self, name: str) -> int | None:
        """The line of a setting, for a reader; the first that begins with its name."""
        words = {"signers": ("signers", "trust", "[tool.zoo.trust", "[trust", "[[")}.get(name, (name,))
        lines = self.head.settings_file.read_text(errors="replace").splitlines()
        return next((i for i, line in enumerate(lines, 1) if line.strip().startswith(words)), None)


def _of_gate(changed: ChangedFile, where: Where) -> Finding:
    if changed.path in _OWNERS:
        message = f"{quoted(changed.path)} is {changed.kind}, which says who must agree to a change"
        return Finding(message, "ask those who own it now", where, code="V011")
    message = f"{quoted(changed.path)} is {changed.kind}, which may run this gate"
    return Finding(message, "read it as code that will run", where, code="V011")


def _is_record(path: str) -> bool:
    """Whether a file belongs to the releases of a draft."""
    parts = path.split("/")
    return parts[0] == "release" and len(parts) > 2 and parts[1] != "targets" and is_name(parts[1])


def _said(value: Any) -> str:
    if not value:
        return "not set"
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if isinstance(value, tuple):
        words = (" ".join(filter(None, each)) if isinstance(each, tuple) else str(each) for each in value)
        return quoted(", ".join(words), 300)
    return quoted(str(value), 300)


def _line(text: bytes, ref: str) -> int | None:
    """The last line that holds ``ref``."""
    numbers = [number for number, line in enumerate(text.splitlines(), 1) if ref.encode() in line]
    return numbers[-1] if numbers else None


def _until_different(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[None]:
    for one, two in pairs:
        if one != two:
            return
        yield None
