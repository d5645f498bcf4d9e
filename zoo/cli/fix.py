"""``zoo fix``: a mended copy of a checkpoint."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from zoo.cli.app import App
from zoo.cli.completion import recipes
from zoo.errors import UnreadableError
from zoo.printable import printable, quoted
from zoo.results import Report, Severity


@click.command("fix")
@click.argument("name", metavar="NAME|FOLDER", shell_complete=recipes)
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
    """Write a copy of a checkpoint with the renames, removals, splits and casts that verify suggests.

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
        app.out(_nothing(before.report, subject.checkpoint.source, name))
        return before.report.exit_status
    write_fixed(subject.checkpoint, changes, out)
    for change in changes.values():
        app.out(printable(change.said(subject.checkpoint.tensors[change.tensor].dtype), keep=""))
    app.out(f"wrote {printable(str(out), keep='')}\n")
    text, status = look(str(out.resolve()))
    app.out(text)
    return status


def _nothing(report: Report, source: str, name: str) -> str:
    """What is said where no copy is written: that is no clean bill of health."""
    said = f"nothing in the tensors of {quoted(source)} can be mended by a copy; none was written"
    errors = report.count(Severity.ERROR)
    if errors:
        word = "error" if errors == 1 else "errors"
        again = f"zoo verify {shlex.quote(printable(name, keep=''))}"
        return f"{said}\n{errors} {word} that only a person can mend: {again}"
    if report.exit_status:
        return f"{said}\nsome checks could not run: zoo verify {shlex.quote(printable(name, keep=''))}"
    return f"nothing to mend in the tensors of {quoted(source)}; no copy was written"
