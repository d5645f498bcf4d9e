"""``zoo replay``: run a draft against recorded states of its target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.app import App, format_option
from zoo.cli.completion import recipes
from zoo.cli.remote import open_sources, remote_options
from zoo.errors import UnreadableError, UsageError

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.recipe.model import Recipe
    from zoo.replay.run import Draft, Recorded
    from zoo.sources import Sources


@click.command("replay")
@click.argument("name", metavar="NAME|SOURCE", shell_complete=recipes)
@click.option("--trace", "folder", required=True, metavar="TRACE", type=click.Path(path_type=Path))
@click.option("--checkpoint", metavar="SOURCE", help="Run this one, not the recipe's source.")
@click.option(
    "--base", metavar="SOURCE", help="What it must not be worse than.  [default: the recipe's base]"
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16"]),
    help="Of the computation.  [default: float32 on cpu, bfloat16 on cuda]",
)
@click.option(
    "--engine",
    "named",
    multiple=True,
    metavar="NAME==VERSION",
    help="Also as this engine reads the config (repeatable).",
)
@click.option("--steps", type=click.IntRange(1, 1000), metavar="N", help="Tokens of a chain (EAGLE3).")
@click.option("--top", type=click.IntRange(1), metavar="N", help="The first N conversations of each domain.")
@click.option("--write", is_flag=True, help="Keep the result as evidence of the recipe's version.")
@remote_options
@format_option("text", "json")
@click.pass_obj
def command(
    app: App,
    name: str,
    folder: Path,
    checkpoint: str | None,
    base: str | None,
    device: str,
    dtype: str | None,
    named: tuple[str, ...],
    steps: int | None,
    top: int | None,
    write: bool,
    endpoint: str,
    timeout: float,
    form: str,
) -> int:
    """Ask a draft for proposals wherever a trace has tokens, and count what the target accepts.

    NAME is a recipe of this zoo; its gates.replay says what the draft must show. A SOURCE, anything with a
    slash, is measured on its own. Needs torch and scipy (pip install 'draft-zoo[replay]'), no target and no
    GPU. Exit status: 1 where a gate fails, 2 where one that is required was not checked.
    """
    from zoo.engines.readings import parse_engine
    from zoo.recipe.load import usable_recipe
    from zoo.replay.evidence import now, record, refuse_another_target
    from zoo.replay.settings import settings_of
    from zoo.replay.trace import open_trace

    recipe = None if "/" in name else usable_recipe(app.zoo, name)
    if recipe is None and (checkpoint or write):
        raise UsageError("--checkpoint and --write need a recipe", hint="zoo replay NAME --trace TRACE")
    engines = tuple(dict.fromkeys(parse_engine(each) for each in named))
    trace, sources = open_trace(folder), open_sources(endpoint, timeout)
    if recipe is not None:
        refuse_another_target(recipe, trace)
    opened = _draft(app, name, recipe, checkpoint, sources)
    needs("torch", "scipy")
    import torch

    from zoo.replay.judge import replay
    from zoo.replay.run import Draft, Recorded
    from zoo.report.replay import document, outcome_of, render

    started = now()
    kind = getattr(torch, dtype or ("float32" if device == "cpu" else "bfloat16"))
    recorded = Recorded.of(trace, device, kind, top)
    draft = Draft.of(opened, recorded, steps)
    other, absent = _base(app, recipe, base, recorded, steps, sources)
    settings = settings_of(recipe)
    with _progress() as told:
        results = replay(
            draft,
            recorded,
            settings,
            training=_training(app, recipe),
            base=other,
            no_base=absent,
            engines=engines,
            told=told,
        )
    status = outcome_of(results, settings)
    if form == "json":
        app.json(document(opened.source, trace, settings, results, status))
    else:
        app.out(render(opened.source, trace, results))
    if write and recipe is not None:
        argv: tuple[str, ...] = ("zoo", "replay", name, "--trace", trace.name, "--device", device)
        argv += tuple(word for each in engines for word in ("--engine", "==".join(each)))
        _write(app, recipe, record(recipe, opened, recorded, settings, results, argv, started, top))
    return status


def _draft(app: App, name: str, recipe: Recipe | None, named: str | None, sources: Sources) -> Checkpoint:
    if recipe is None or named is not None:
        return sources.open(named or name)
    if recipe.checkpoint.source == "unknown":
        raise UnreadableError("the recipe's source is unknown", hint="add --checkpoint FOLDER")
    return sources.open(recipe.checkpoint.source, zoo=app.zoo)


def _base(
    app: App,
    recipe: Recipe | None,
    named: str | None,
    recorded: Recorded,
    steps: int | None,
    sources: Sources,
) -> tuple[Draft | None, str]:
    """The draft to compare with, or why there is none."""
    from zoo.replay.run import Draft

    if named is not None:
        return Draft.of(sources.open(named), recorded, steps), ""
    stated = None if recipe is None else recipe.base
    if stated is None:
        return None, "there is no base draft to compare with"
    if stated.repo.startswith("./") and (app.zoo.root / stated.repo).is_dir():
        return Draft.of(sources.open(stated.repo, zoo=app.zoo), recorded, steps), ""
    return None, "the base draft is not here; give its folder with --base"


def _training(app: App, recipe: Recipe | None) -> Any:
    from zoo.recipe.training import load_training

    return None if recipe is None else load_training(app.zoo, recipe)[0]


def _write(app: App, recipe: Recipe, made: Any) -> None:
    from zoo.evidence import evidence_folder, write_evidence

    path = evidence_folder(app.zoo, recipe) / f"{made.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_evidence(path, made)
    app.note(f"wrote {app.zoo.shown(path)}")


def needs(*modules: str) -> None:
    """Raises UsageError where a library of the extra ``replay`` is missing."""
    from importlib.util import find_spec

    missing = [each for each in modules if find_spec(each) is None]
    if missing:
        raise UsageError(
            f"this command needs {' and '.join(missing)}", hint="run: pip install 'draft-zoo[replay]'"
        )


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr with the time left, on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("")
        yield lambda done, total: bar.update(task, completed=done, total=total)
