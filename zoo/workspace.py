"""Where a zoo is and what its settings say.

A zoo is a folder with ``recipes/`` and settings: a ``zoo.toml``, or ``[tool.zoo]`` in ``pyproject.toml``.
It is found by walking up from the current folder, as git does.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.errors import NotAZooError, SettingsError
from zoo.printable import quoted
from zoo.results import Severity

# A setting, and how to write it.
_KNOWN = {
    "publish_to": 'publish_to = "dir:published"',
    "endpoints": 'endpoints = ["https://hub.example.com"]',
    "trust": 'trust = {signers = [{name = "alice", key = "keys/alice.pub"}]}',
    "severity": 'severity = {R020 = "error"}',
}
_LISTS = ("endpoints",)
MAX_SETTINGS_BYTES = 256 * 1024


class Signer(NamedTuple):
    """Somebody whose signatures this zoo trusts. ``key``: the file of the public key, or of the certificates
    of an authority, relative to the zoo; without one, ``identity`` as the OIDC ``provider`` (a URL) states
    it."""

    name: str
    key: str = ""
    identity: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Zoo:
    """A zoo on disk. ``publish_to`` is the default of ``zoo release --to``, or ""; ``endpoints`` are the
    servers that a recipe may name as its source, beside huggingface.co; ``signers`` are those whose evidence
    counts, and with none everybody's does. ``trust_root``: the folder that their keys are relative to, where
    that is not the zoo (``zoo ci`` trusts whom the base of a change trusts). ``severity``: how much the
    findings of a rule matter here, by its code."""

    root: Path
    settings_file: Path
    publish_to: str = ""
    endpoints: tuple[str, ...] = ()
    signers: tuple[Signer, ...] = ()
    trust_root: Path | None = None
    severity: Mapping[str, Severity] = field(default_factory=dict)

    @property
    def recipes(self) -> Path:
        return self.root / "recipes"

    @property
    def templates(self) -> Path:
        return self.root / "templates"

    def release_folder(self, name: str, version: str = "") -> Path:
        """``release/NAME[/VERSION]``: card, manifest, notes and evidence; never weights."""
        folder = self.root / "release" / name
        return folder / version if version else folder

    def holds(self, path: Path) -> bool:
        """Whether ``path`` lies in the zoo, wherever links lead."""
        try:
            return path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError, ValueError):  # a loop of links, or a NUL
            return False

    def shown(self, path: Path) -> str:
        """``path`` as a person would write it: relative to the zoo where it lies inside."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)


def find_zoo(start: Path) -> Zoo:
    """The zoo that holds ``start``: the closest folder, upwards, with settings of a zoo.

    Raises:
        NotAZooError: no folder up to the root has any.
        SettingsError: a settings file cannot be read, is not TOML, or has unknown or wrong values.
    """
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        for file in (candidate / "zoo.toml", candidate / "pyproject.toml"):
            settings = _read(file)
            if settings is not None:
                return Zoo(
                    candidate,
                    file,
                    publish_to=settings.get("publish_to", ""),
                    endpoints=tuple(settings.get("endpoints", ())),
                    signers=_signers(file, settings.get("trust")),
                    severity=_severity(file, settings.get("severity", {})),
                )
    if not folder.exists():
        raise NotAZooError(
            f"{quoted(str(folder))} does not exist",
            hint="check --zoo FOLDER or the variable ZOO, or make a new zoo with: zoo init FOLDER",
        )
    if any((folder / "recipes").glob("*.yaml")):
        raise NotAZooError(
            f"{quoted(str(folder))} has recipes/, and no settings: zoo.toml is not there",
            hint="restore zoo.toml: whom the zoo trusts is in it",
        )
    raise NotAZooError(
        f"{quoted(str(folder))} is not inside a zoo",
        hint="run the command inside one, name it with --zoo FOLDER, or make a new one with: zoo init FOLDER",
    )


def _read(file: Path) -> Mapping[str, Any] | None:
    """The settings in ``file``, or None if it does not exist or is about something else."""
    document = _document(file)
    settings: Any = document
    if document is not None and file.name != "zoo.toml":
        settings = _table(file, "tool", document.get("tool", {})).get("zoo")
    if settings is None:
        return None
    known = _table(file, "tool.zoo", settings)
    for key, value in known.items():
        if key not in _KNOWN:
            raise SettingsError(
                f"{file}: unknown setting {quoted(key)}", hint=f"known settings are: {', '.join(_KNOWN)}"
            )
        if key in ("trust", "severity"):
            continue
        lines = value if key in _LISTS and isinstance(value, list) else [value]
        if (key in _LISTS) != isinstance(value, list) or not all(map(_is_line, lines)):
            kind = "a list of lines" if key in _LISTS else "one line"
            raise SettingsError(
                f"{file}: setting {key} is not {kind} of text", hint=f"write it like this: {_KNOWN[key]}"
            )
    return known


def _signers(file: Path, trust: Any) -> tuple[Signer, ...]:
    """The setting ``trust``. One that is there and names nobody is an error: it reads as if it protected."""
    if trust is None:
        return ()
    listed = trust.get("signers") if isinstance(trust, dict) and trust.keys() == {"signers"} else None
    forms = ({"name", "key"}, {"name", "identity", "provider"})
    whole = isinstance(listed, list) and all(
        isinstance(each, dict) and each.keys() in forms and all(map(_is_line, each.values()))
        for each in listed
    )
    signers = tuple(Signer(**each) for each in listed) if whole and listed else ()
    if (
        not signers
        or len({each.name for each in signers}) < len(signers)
        or not all(each.name and (each.key or (each.identity and each.provider)) for each in signers)
    ):
        raise SettingsError(
            f"{file}: setting trust is not a list of signers, each with a name of its own and a key "
            "(or an identity and its provider)",
            hint=f"write it like this: {_KNOWN['trust']}",
        )
    return signers


def _severity(file: Path, stated: Any) -> Mapping[str, Severity]:
    """The setting ``severity``: what the findings of a rule are in this zoo, by its code."""
    if not isinstance(stated, dict):
        hint = f"write it like this: {_KNOWN['severity']}"
        raise SettingsError(f"{file}: setting severity is not a table of codes", hint=hint)
    if not stated:
        return {}
    from zoo.rules.severity import refusal  # all rules, which a zoo without this setting need not load

    for code, value in stated.items():
        refused = refusal(code, value)
        if refused is not None:
            reason, hint = refused
            raise SettingsError(f"{file}: setting severity: {reason}", hint=hint)
    return {code: Severity(value) for code, value in stated.items()}


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _document(file: Path) -> dict[str, Any] | None:
    if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(file.parent):
        reason = "a link that leads out of its folder"
        raise SettingsError(f"{file}: cannot be read ({reason})", hint="put the file itself there")
    try:
        with open_regular(file) as opened:
            raw = read_up_to(opened, MAX_SETTINGS_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        hint = "put a readable file there, or remove it"
        raise SettingsError(f"{file}: cannot be read ({error.strerror})", hint=hint) from error
    if len(raw) > MAX_SETTINGS_BYTES:
        raise SettingsError(f"{file}: larger than {MAX_SETTINGS_BYTES:,} bytes", hint="keep data elsewhere")
    try:
        return tomllib.loads(raw.decode("utf-8"))
    except RecursionError as error:
        raise SettingsError(f"{file}: nested too deeply", hint="mend the file") from error
    except ValueError as error:  # not UTF-8, not TOML, or an integer of thousands of digits
        raise SettingsError(f"{file}: not TOML: {error}", hint="mend the file") from error


def _table(file: Path, key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(f"{file}: {key} is not a table", hint=f"write [{key}] on a line of its own")
    return value
