"""``zoo bisect``: which difference makes one draft worse than another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.app import App, format_option
from zoo.cli.remote import open_sources, remote_options
from zoo.cli.replay import needs
from zoo.errors import UnreadableError
from zoo.printable import printable, quoted

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.replay.bisect import Found, Part
    from zoo.replay.run import Draft
    from zoo.sources import Sources


@click.command("bisect")
@click.argument("good", metavar="GOOD")
@click.argument("bad", metavar="BAD")
@click.option("--trace", "folder", required=True, metavar="TRACE", type=click.Path(path_type=Path))
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--steps", type=click.IntRange(1, 1000), metavar="N", help="Tokens of a chain (EAGLE3).")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Only the first N conversations.")
@remote_options
@format_option("text", "json")
@click.pass_obj
def command(
    app: App,
    good: str,
    bad: str,
    folder: Path,
    device: str,
    steps: int | None,
    top: int | None,
    endpoint: str,
    timeout: float,
    form: str,
) -> None:
    """Find the smallest difference between two drafts that explains why BAD has less accepted than GOOD.

    Each is a recipe of this zoo or a SOURCE (anything with a slash). Keys of config.json and groups of
    tensors of GOOD are put into BAD, under replay on the main domain of the trace. Needs torch and scipy
    (pip install 'draft-zoo[replay]').
    """
    from zoo.replay.trace import open_trace

    trace, sources = open_trace(folder), open_sources(endpoint, timeout)
    opened = [_open(app, each, sources) for each in (good, bad)]
    needs("torch", "scipy")
    import torch

    from zoo.replay.bisect import bisect
    from zoo.replay.run import Draft, Recorded

    recorded = Recorded.of(trace, device, torch.float32 if device == "cpu" else torch.bfloat16, top)
    recorded = recorded.only(recorded.main)
    first, second = (Draft.of(each, recorded, steps) for each in opened)
    with _counted() as told:
        found = bisect(first, second, recorded, told)
    if form == "json":
        app.json(_document(found, first, second))
    else:
        app.out("\n".join(_lines(found, first, second)))


def _open(app: App, name: str, sources: Sources) -> Checkpoint:
    if "/" in name:
        return sources.open(name)
    from zoo.recipe.load import usable_recipe

    source = usable_recipe(app.zoo, name).checkpoint.source
    if source == "unknown":
        raise UnreadableError(f"the source of recipe {quoted(name)} is unknown", hint="name a folder instead")
    return sources.open(source, zoo=app.zoo)


def _lines(found: Found, good: Draft, bad: Draft) -> Iterator[str]:
    loss = found.loss
    yield (
        f"accept length at every anchor {found.good:.2f} and {found.bad:.2f}: {loss.change:+.1%} of accept "
        f"length - 1 ({loss.low:+.1%} to {loss.high:+.1%}, {loss.conversations} conversations)"
    )
    if not found.smallest:
        yield "no loss that could be told from noise: there is nothing to explain"
        return
    yield ""
    yield f"{'part of GOOD put into BAD':50} recovers"
    for part, share in found.recovers:
        yield f"{printable(part.name, limit=50):50} {share:8.0%}"
    yield ""
    yield f"smallest difference that explains it ({found.together:.0%} recovered):"
    for part in found.smallest:
        yield f"  {printable(part.name)}{_stated(part, good, bad)}"


def _stated(part: Part, good: Draft, bad: Draft) -> str:
    from zoo.replay.bisect import values

    pairs = zip(values(good, part), values(bad, part), strict=True)
    said = "; ".join(f"{_value(ours)} in GOOD, {_value(theirs)} in BAD" for ours, theirs in pairs)
    return f": {said}" if said else ""


def _value(value: Any) -> str:
    return "absent" if value is None else printable(str(value), limit=80)


def _document(found: Found, good: Draft, bad: Draft) -> dict[str, Any]:
    from zoo.replay.bisect import values

    loss = found.loss
    return {
        "schema": "zoo-bisect/1",
        "accept_length": {"good": found.good, "bad": found.bad},
        "loss": {
            "change": loss.change,
            "interval": [loss.low, loss.high],
            "conversations": loss.conversations,
        },
        "recovers": [{"part": part.name, "share": share} for part, share in found.recovers],
        "smallest": [
            {
                "part": part.name,
                "tensors": list(part.tensors),
                "good": values(good, part),
                "bad": values(bad, part),
            }
            for part in found.smallest
        ],
        "together": found.together,
    }


@contextmanager
def _counted() -> Iterator[Callable[[], None]]:
    """How many mixtures were run, on a terminal only: how many there will be depends on what they show."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("mixtures tried: {task.completed}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda: bar.advance(task)
