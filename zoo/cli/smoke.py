"""``zoo smoke``: serve a draft, and ask the server whether it does what it was trained to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli.app import App, format_option
from zoo.cli.completion import recipes
from zoo.cli.remote import open_sources, remote_options
from zoo.errors import UsageError

if TYPE_CHECKING:
    from zoo.evidence import Evidence
    from zoo.recipe.model import Recipe
    from zoo.smoke.run import Step

_CONTROLS = ("zero-fc", "drop-q", "prefix", "mask-token", "aux+1", "aux-1")
_FOLDER = click.Path(path_type=Path)


@click.command("smoke")
@click.argument("name", shell_complete=recipes)
@click.option("--tier", metavar="TIER", help="cpu or Ngpu.  [default: the recipe's gates.smoke.tier]")
@click.option(
    "--profile", default="", metavar="NAME", help="Serve with this one.  [default: the tier's first]"
)
@click.option("--checkpoint", metavar="SOURCE", help="Serve this one, not the recipe's source.")
@click.option(
    "--target", metavar="FOLDER", type=_FOLDER, help="The target itself.  [default: the target file's]"
)
@click.option("--python", metavar="PATH", help="The interpreter that has the engine.")
@click.option(
    "--control", type=click.Choice(_CONTROLS), help="Serve only a copy that is broken so: 0 if caught."
)
@click.option("--with-control", type=click.Choice(_CONTROLS), help="After the draft, such a copy too.")
@click.option(
    "--attach", "url", default="", metavar="URL", help="Start nothing: ask a running server, in a minute."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address that the server listens on."
)
@click.option("--port", type=click.IntRange(1, 65535), help="  [default: a free one]")
@click.option("--extra", multiple=True, metavar="ARG", help="One more argument of the server (repeatable).")
@click.option("--share-gpus", is_flag=True, help="Other processes may be on the GPUs.")
@click.option("--out", metavar="FOLDER", type=_FOLDER, help="Keep log, served tokens and report here.")
@click.option("--write", is_flag=True, help="Keep the result as evidence of the recipe's version.")
@remote_options
@format_option("text", "json")
@click.pass_obj
def command(
    app: App,
    name: str,
    tier: str | None,
    profile: str,
    checkpoint: str | None,
    target: Path | None,
    python: str | None,
    control: str | None,
    with_control: str | None,
    url: str,
    host: str,
    port: int | None,
    extra: tuple[str, ...],
    share_gpus: bool,
    out: Path | None,
    write: bool,
    endpoint: str,
    timeout: float,
    form: str,
) -> int:
    """Start the server of a recipe, send it the recipe's prompts, and judge what it served.

    Tier cpu runs zoo's own reference engine, which is no inference engine; Ngpu runs the profile's. Exit
    status: 1 where a probe fails, 2 where one that the recipe requires was not checked, or the server did not
    come up for a reason that is not the draft's. With --control, 0 if a probe failed and so caught it.
    """
    from zoo.recipe.load import usable_recipe

    if control and (write or with_control):
        raise UsageError(
            "a broken draft gives no evidence of this one",
            hint="to have the control beside the draft in one record: --with-control NAME --write",
        )
    recipe = usable_recipe(app.zoo, name)
    from zoo.evidence import evidence_folder
    from zoo.report.smoke import attached, document, outcome_of, outcome_of_control, render, verdict
    from zoo.smoke.job import Asked, attach, smoke
    from zoo.smoke.job import write as keep

    asked = Asked(
        tier=tier,
        profile=profile,
        checkpoint=checkpoint,
        target=target,
        python=python,
        control=control or "",
        with_control=with_control or "",
        host=host,
        port=port,
        extra=extra,
        share_gpus=share_gpus,
        out=out,
    )
    if url:
        _refuse_beside_attach(write=write, control=control or with_control, out=out, checkpoint=checkpoint)
        results, status = attach(app.zoo, recipe, url, asked)
        if form == "json":
            app.json(attached(recipe.name, url, results, status))
        else:
            app.out(render(f"{recipe.name} {recipe.version}, a running server", results))
            app.out(f"\n{verdict(results, (), status)}")
        return status
    with _progress(app) as tell:
        made = smoke(app.zoo, recipe, asked, open_sources(endpoint, timeout), tell)
    record, required = made.record, made.settings.require
    if control:
        status = outcome_of_control(record.results)
        end = f"{'ok  caught' if status == 0 else 'failed  NOT caught'}: {control}"
    else:
        status = outcome_of(record.results, required)
        end = verdict(record.results, required, status)
    if form == "json":
        app.json(document(recipe.name, record, control or "", status))
    else:
        app.out(render(_heading(recipe, record, control or ""), record.results))
        app.out(f"\n{end}")
    if write:
        for path in keep(made, evidence_folder(app.zoo, recipe)):
            app.note(f"wrote {app.zoo.shown(path)}")
    return status


def _refuse_beside_attach(**asked: object) -> None:
    given = [f"--{name}" for name, value in asked.items() if value]
    if given:
        raise UsageError(
            f"{', '.join(given)} and --attach do not go together",
            hint="a running server is only asked; a record needs a run of its own",
        )


def _heading(recipe: Recipe, record: Evidence, control: str) -> str:
    broken = f", broken on purpose ({control})" if control else ""
    served = f"{record.engine.name} {record.engine.version}, tier {record.settings['tier']}"
    gpus = f" on {len(record.host['gpus'])} x {record.host['gpus'][0]}" if record.host["gpus"] else ""
    prompts = f"{record.inputs['count']} prompts, {record.settings['max_new_tokens']} tokens each"
    return f"{recipe.name} {recipe.version}{broken}, served by {served}{gpus}: {prompts}"


@contextmanager
def _progress(app: App) -> Iterator[Callable[[Step, str], None]]:
    """The present phase and what it does: a line that changes on a terminal, a line per phase in a log."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda phase, text: None if text else app.note(f"{phase.name}: {phase.about}")
        return
    with console.status("") as status:
        yield lambda phase, text: status.update(escape(f"{phase.about}  {text}"))
