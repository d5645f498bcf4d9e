"""``zoo fix``: a mended copy of a checkpoint."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.cli.app import App
from zoo.errors import UnreadableError
from zoo.printable import printable, quoted


@click.command("fix")
@click.argument("name", metavar="NAME|FOLDER")
@click.option("--checkpoint", metavar="FOLDER", help="Mend this folder, not the recipe's source.")
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="A folder that does not exist yet, or is empty.",
)
@click.pass_obj
def command(app: App, name: str, checkpoint: str | None, out: Path) -> int:
    """Write a copy of a checkpoint with the renames, removals and casts that verify suggests.

    The original is never touched. What only a new export can mend stays as it is, and is exit 1.
    """
    from zoo.fix import plan, write_fixed
    from zoo.report.text import render
    from zoo.verify import verify_recipe, verify_source

    folder = "/" in name or name in (".", "..")

    def look(at: str | None) -> tuple[str, int]:
        found = verify_source(at or name) if folder else verify_recipe(app.zoo, name, checkpoint=at)
        return render(found.report, notes=False), found.report.exit_status

    before = verify_source(name) if folder else verify_recipe(app.zoo, name, checkpoint=checkpoint)
    subject = before.subject
    if subject.checkpoint is None or subject.header is None or subject.inventory is None:
        material = next(each for each in ("checkpoint", "header", "inventory") if subject.absent(each))
        absent = subject.absent(material)
        hint = f"see: zoo verify {name}"
        raise UnreadableError(f"nothing can be mended: {absent.reason if absent else ''}", hint=hint)
    changes = plan(subject)
    if not changes:
        app.out(f"nothing to mend in the tensors of {quoted(subject.checkpoint.source)}; no copy was written")
        return before.report.exit_status
    write_fixed(subject.checkpoint, changes, out)
    for change in changes.values():
        app.out(printable(change.said(subject.checkpoint.tensors[change.tensor].dtype), keep=""))
    app.out(f"wrote {printable(str(out), keep='')}\n")
    text, status = look(str(out.resolve()))
    app.out(text)
    return status
