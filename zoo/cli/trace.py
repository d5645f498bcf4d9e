"""``zoo trace``: record the states of a target once, so that drafts can be replayed without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli.app import App, format_option
from zoo.cli.progress import bytes_read
from zoo.cli.remote import open_sources, remote_options
from zoo.errors import UsageError
from zoo.printable import printable

if TYPE_CHECKING:
    from zoo.recipe.model import Target
    from zoo.replay.trace import Trace
    from zoo.replay.writing import Plan

_DTYPES = ("bfloat16", "float16", "float32")


@click.command("trace")
@click.argument("target", required=False)
@click.option(
    "--conversations", metavar="FILE", type=click.Path(path_type=Path), help="JSONL: what to record."
)
@click.option("--out", metavar="TRACE", type=click.Path(path_type=Path), help="The folder of the trace.")
@click.option(
    "--model", metavar="FOLDER", help="The target itself.  [default: repo of the target file, if ./]"
)
@click.option(
    "--layers",
    default="",
    metavar="IDS|NAME",
    help="As 1,14,26, or those of a recipe.  [default: all recipes']",
)
@click.option("--neighbours", is_flag=True, help="Also the layers just before and after each.")
@click.option(
    "--max-new-tokens", type=click.IntRange(1, 1_000_000), default=256, show_default=True, metavar="N"
)
@click.option("--ignore-eos", is_flag=True, help="Go on after an end token, as benchmarks do.")
@click.option(
    "--beyond",
    type=click.IntRange(0, 4096),
    default=16,
    show_default=True,
    metavar="N",
    help="Tokens after the end: at least the draft's block size.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(0, 10),
    default=0.0,
    metavar="T",
    help="Draw the continuations at T.  [default: 0, greedy]",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Of the draws.  [default: 0]")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option(
    "--dtype", type=click.Choice(_DTYPES), default=_DTYPES[0], show_default=True, help="Of what is kept."
)
@click.option(
    "--compute-dtype", type=click.Choice(_DTYPES), help="  [default: float32 on cpu, bfloat16 on cuda]"
)
@click.option("--batch", type=click.IntRange(1, 4096), default=8, show_default=True, metavar="N")
@click.option(
    "--top", type=click.IntRange(1), metavar="N", help="Only the first N conversations of each domain."
)
@click.option(
    "--domain", default="", metavar="NAME", help="The main domain.  [default: that of the first line]"
)
@click.option(
    "--import",
    "dumps",
    multiple=True,
    metavar="DUMP",
    help="Take states from files of a trainer (repeatable).",
)
@click.option("--own-tokens", is_flag=True, help="The dump's continuations are the target's own greedy ones.")
@click.option(
    "--check", metavar="TRACE", type=click.Path(path_type=Path), help="Compare every byte of a trace."
)
@remote_options
@format_option("text", "json")
@click.pass_obj
def command(
    app: App,
    target: str | None,
    conversations: Path | None,
    out: Path | None,
    model: str | None,
    layers: str,
    neighbours: bool,
    max_new_tokens: int,
    ignore_eos: bool,
    beyond: int,
    temperature: float,
    seed: int | None,
    device: str,
    dtype: str,
    compute_dtype: str | None,
    batch: int,
    top: int | None,
    domain: str,
    dumps: tuple[str, ...],
    own_tokens: bool,
    check: Path | None,
    endpoint: str,
    timeout: float,
    form: str,
) -> None:
    """Record what a target computes over conversations: the states after the layers that its drafts see, and
    the final ones.

    TARGET is a target file of this zoo. The continuation of each conversation is the target's greedy one, one
    that it draws at --temperature, or that of its line. A recording that was stopped goes on when the same
    command runs again.
    """
    from zoo.drafts import HEADER_DTYPE
    from zoo.recipe.load import usable_target
    from zoo.recipe.names import is_name
    from zoo.replay.layers import wanted_layers, with_neighbours
    from zoo.replay.target import target_files
    from zoo.replay.trace import check_trace, open_trace

    if check is not None:
        if target or conversations or out or dumps:
            raise UsageError("--check takes a trace and nothing else", hint="zoo trace --check TRACE")
        trace = open_trace(check)
        with bytes_read() as told:
            count = check_trace(trace, told)
        _show(app, trace, form)
        app.note(f"{count:,} bytes are those of the index")
        return
    if target is None or out is None or (conversations is None) == (not dumps):
        raise UsageError(
            "a trace needs a target, an --out folder, and either --conversations or --import",
            hint="zoo trace TARGET --conversations FILE --out TRACE",
        )
    if domain and not is_name(domain):
        raise UsageError("--domain is not a name", hint="use lower-case letters, digits, dots and dashes")
    if dumps and (neighbours or not layers):
        raise UsageError(
            "a dump has the layers that it has",
            hint="name them in the order of its columns: --layers 1,14,26",
        )
    if (dumps and temperature) or (seed is not None and not temperature):
        what = "--temperature is for --conversations" if dumps else "--seed is for --temperature"
        raise UsageError(f"{what}: nothing is drawn here", hint="leave it out")
    known = usable_target(app.zoo, target)
    wanted = wanted_layers(app.zoo, known, layers)
    sources = open_sources(endpoint, timeout)
    files = target_files(known, sources.open(_model(app, known, model)))
    if dumps:
        from zoo.replay.conversations import MAIN
        from zoo.replay.importer import Import, dump_files, import_dump, plan_import
        from zoo.replay.writing import check_out

        name = check_out(out)
        how = Import(wanted, HEADER_DTYPE[dtype], device, domain or MAIN, own_tokens, top)
        paths = dump_files(map(Path, dumps), top)
        plan, asked = plan_import(name, files, paths, how)
        _announce(app, plan, files.head.nbytes, out)
        with _progress(len(asked)) as step:
            trace = import_dump(out, plan, files, paths, asked, how, step)
    else:
        from zoo.replay.conversations import Limits, Tokenizer, read_conversations
        from zoo.replay.record import Settings, plan_recording, record
        from zoo.replay.writing import check_out

        assert conversations is not None
        name = check_out(out)
        compute = compute_dtype or ("float32" if device == "cpu" else "bfloat16")
        limits = Limits(known.vocab_size, files.context, max_new_tokens, beyond)
        asked, main = read_conversations(
            conversations, limits, Tokenizer(files.folder), domain=domain, top=top
        )
        settings = Settings(
            layers=with_neighbours(wanted, known.layers) if neighbours else tuple(sorted(wanted)),
            dtype=HEADER_DTYPE[dtype],
            compute_dtype=HEADER_DTYPE[compute],
            device=device,
            max_new_tokens=max_new_tokens,
            ignore_eos=ignore_eos,
            beyond=beyond,
            batch=batch,
            temperature=temperature,
            seed=seed or 0,
        )
        plan = plan_recording(name, files, asked, main, settings)
        _announce(app, plan, files.head.nbytes, out)
        with _progress(len(asked)) as step:
            trace = record(out, plan, files, asked, settings, step)
    _show(app, trace, form)


def _model(app: App, target: Target, stated: str | None) -> str:
    """The source of the target itself."""
    if stated:
        return stated
    if target.repo.path.startswith("./"):
        return str(app.zoo.root / target.repo.path)
    raise UsageError(
        f"{target.file} names a repository, {printable(target.repo.path)}, and no folder of this zoo",
        hint="give the folder of the target: --model FOLDER",
    )


def _announce(app: App, plan: Plan, head: int, out: Path) -> None:
    """Say how large the trace will be, and refuse when there is no room."""
    from zoo.replay.writing import check_room

    index = plan.index
    count, longest, tokens = len(plan.lengths), max(plan.lengths), sum(plan.lengths)
    plural = "conversation" if count == 1 else "conversations"
    shape = f"{count:,} {plural}, at most {tokens:,} tokens (the longest {longest:,})"
    states = f"{len(index['layers'])} layers" + (" and the final state" if index["final"] == "normed" else "")
    app.note(
        f"{shape}, {states} of {index['target']['hidden_size']:,} in {index['dtype']}: "
        f"{_size(plan.nbytes)}, and {_size(head)} for the target's embedding and head"
    )
    check_room(out, plan.nbytes + head)


def _show(app: App, trace: Trace, form: str) -> None:
    if form == "json":
        app.json(trace.index)
        return
    found, index = trace.conversations, trace.index
    domains = {each.domain: sum(one.domain == each.domain for one in found) for each in found}
    sizes = sum(each.file.size for each in found) + trace.head.size
    tokens, grown = (
        sum(each.length for each in found),
        sum(each.end - each.prompt_length for each in found),
    )
    named = ", ".join(f"{name} {count}" for name, count in domains.items())
    app.out(
        f"{trace.name}: {len(found):,} conversations ({named}), {tokens:,} tokens, "
        f"{grown:,} of them continuation"
    )
    final = "and the final state" if trace.has_final else "and no final states: temperature 0 only"
    app.out(f"after layers {', '.join(map(str, trace.layers))} {final}; {index['dtype']}, {_size(sizes)}")
    if trace.has_final:
        greedy = sum(each.greedy or 0 for each in found)
        app.out(f"{greedy:,} of {grown:,} continuation tokens are the first choice of the stored states")
    app.out(
        f"target {printable(index['target']['repo'])} at {printable(index['target']['revision'])}, "
        f"digest {trace.digest}"
    )


def _size(count: int) -> str:
    """Bytes as a person reads them: 4.2 GB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr with the time left, on a terminal only. Takes the number of finished conversations."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("recording"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.advance(task, count)
