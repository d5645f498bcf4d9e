"""Where a zoo is and what its settings say.

A zoo is a folder with ``recipes/`` and settings: a ``zoo.toml``, or ``[tool.zoo]`` in ``pyproject.toml``.
It is found by walking up from the current folder, as git does.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.errors import NotAZooError, SettingsError
from zoo.printable import quoted

_KNOWN = {"publish_to": str}


@dataclass(frozen=True, slots=True)
class Zoo:
    """A zoo on disk. ``publish_to`` is the default of ``zoo release --to``, or ""."""

    root: Path
    settings_file: Path
    publish_to: str = ""

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

    def shown(self, path: Path) -> str:
        """``path`` as a person would write it: relative to the zoo where it lies inside."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)


def find_zoo(start: Path) -> Zoo:
    """The zoo that holds ``start``: the closest folder, upwards, with settings of a zoo.

    Raises:
        NotAZooError: no folder up to the root has any.
        SettingsError: the settings file is not TOML, or has unknown or wrong values.
    """
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        for file in (candidate / "zoo.toml", candidate / "pyproject.toml"):
            settings = _read(file) if file.is_file() else None
            if settings is not None:
                return Zoo(candidate, file, publish_to=settings.get("publish_to", ""))
    raise NotAZooError(
        f"{quoted(str(folder))} is not inside a zoo",
        hint="run the command inside one, name it with --zoo FOLDER, or make a new one with: zoo init FOLDER",
    )


def _read(file: Path) -> Mapping[str, Any] | None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: not TOML: {error}", hint="mend the file") from error
    settings = document if file.name == "zoo.toml" else document.get("tool", {}).get("zoo")
    if settings is None:
        return None
    for key, value in settings.items():
        if key not in _KNOWN:
            raise SettingsError(
                f"{file}: unknown setting {quoted(key)}", hint=f"known settings are: {', '.join(_KNOWN)}"
            )
        if not isinstance(value, _KNOWN[key]):
            raise SettingsError(f"{file}: setting {key} has the wrong type", hint="see docs/recipes.md")
    known: Mapping[str, Any] = settings
    return known
