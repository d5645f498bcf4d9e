"""Completion of names in a shell (docs/cli.md): recipes by their file names, without reading any."""

from __future__ import annotations

from pathlib import Path

import click


def recipes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The recipes of the zoo that begin with ``incomplete``. None where there is no zoo: a shell that
    completes a word has no place for a message."""
    from zoo.errors import ZooError
    from zoo.workspace import find_zoo

    folder = ctx.find_root().params.get("folder") or "."
    try:
        root = find_zoo(Path(folder)).recipes
    except ZooError:
        return []
    return sorted(path.stem for path in root.glob("*.yaml") if path.stem.startswith(incomplete))
