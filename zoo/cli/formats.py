"""The forms of ``zoo verify`` for CI services; those of ``zoo ci`` are in ``zoo.ci.render``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoo.results import Report

FOR_SERVICES = ("github", "sarif", "junit")


def render(form: str, reports: Sequence[tuple[str, Report]], prefix: str, about: str) -> str:
    """``reports`` in one of :data:`FOR_SERVICES`. ``about`` names the command."""
    from zoo.printable import json_text
    from zoo.report import github, junit, sarif

    match form:
        case "github":
            return github.render(reports, prefix)
        case "sarif":
            return json_text(sarif.document(reports, prefix))
        case "junit":
            return junit.render(reports, about)
    raise AssertionError(form)


def prefix_of(root: Path) -> str:
    """The folder of the zoo in its git repository, as "" or "FOLDER/": services want paths from the top."""
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            inside = root.relative_to(folder).as_posix()
            return "" if inside == "." else f"{inside}/"
    return ""
