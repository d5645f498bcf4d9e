"""``zoo engines``: the flags of engine versions, from released wheels that are never imported."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.cli.app import App, format_option
from zoo.engines.options import Option, Snapshot, as_text, snapshot, snapshots
from zoo.errors import UsageError
from zoo.printable import printable, quoted
from zoo.recipe.validate import did_you_mean

_COUNTS: dict[str | int | None, str | None] = {None: None, "?": "none or one", "*": "any", "+": "one or more"}


@click.group("engines")
def command() -> None:
    """The flags of engine versions: what a launch command is judged by."""


@command.command("list")
@format_option("text", "json")
@click.pass_obj
def list_snapshots(app: App, form: str) -> None:
    """List the versions whose flags ship with zoo."""
    held = [_shipped(engine, version) for engine, version in snapshots()]
    if form == "json":
        app.json({"schema": "zoo-engines/1", "engines": [_head(each) for each in held]})
        return
    for each in held:
        names = sum(len(option.names) for option in each.options)
        pin = f"{each.engine}=={each.version}"
        app.out(f"{pin:<16}  {len(each.options)} options, {names} names, {_deprecated(each)} deprecated")


@command.command("show", context_settings={"ignore_unknown_options": True})  # FLAG begins with dashes
@click.argument("engine")
@click.argument("flag", required=False)
@format_option("text", "json")
@click.pass_obj
def show(app: App, engine: str, flag: str | None, form: str) -> None:
    """Show the flags of ENGINE, e.g. sglang==0.5.14, or what FLAG means to it.

    FLAG is resolved as the engine resolves it: an unambiguous beginning of a name is that name.
    """
    held = _named(engine)
    chosen = held.options if flag is None else (_resolved(held, flag),)
    if form == "json":
        options = [{"kind": each.kind, **each.as_json()} for each in chosen]
        app.json({"schema": "zoo-engine-flags/1", **_head(held), "options": options})
    elif flag is None:
        app.out("\n".join(_line(each) for each in chosen))
    else:
        app.out("\n".join(_details(held, chosen[0], flag)))


@command.command("snapshot")
@click.argument("engine")
@click.argument("release", metavar="WHEEL|DIR", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to FILE, not to stdout.")
@click.pass_obj
def take(app: App, engine: str, release: Path, out: Path | None) -> None:
    """Read the flags of ENGINE (sglang, vllm) from a wheel or an unpacked folder.

    Nothing of the release is imported or run. A layout that is not known is an error, never a guess.
    """
    from zoo.atomic import write_atomically
    from zoo.engines.extract import extract

    text = as_text(extract(engine, release))
    if out is None:
        app.out(text.rstrip("\n"))
    else:
        write_atomically(out, text.encode())
        app.note(f"wrote {printable(str(out))}")


def _shipped(engine: str, version: str) -> Snapshot:
    held = snapshot(engine, version)
    assert held is not None
    return held


def _named(pin: str) -> Snapshot:
    engine, _, version = pin.partition("==")
    held = snapshot(engine, version)
    if held is None:
        known = ", ".join("==".join(pair) for pair in snapshots())
        raise UsageError(
            f"there is no snapshot of {quoted(pin)}",
            hint=f"known: {known}; another: zoo engines snapshot ENGINE WHEEL",
        )
    return held


def _resolved(held: Snapshot, flag: str) -> Option:
    name = flag.partition("=")[0]
    exact = held.exact(name)
    if exact is not None:
        return exact
    found = held.candidates(name)
    if len(found) == 1:
        return found[0][1]
    if found:
        names = ", ".join(name for name, _ in found)
        raise UsageError(f"{quoted(name)} is ambiguous in {held.title}", hint=f"it may be: {names}")
    hint = (
        did_you_mean(name, held.by_name).strip()
        or f"list them: zoo engines show {held.engine}=={held.version}"
    )
    raise UsageError(f"{held.title} has no flag {quoted(name)}", hint=hint)


def _head(held: Snapshot) -> dict[str, object]:
    return {
        "engine": held.engine,
        "version": held.version,
        "generator": held.generator,
        "source": held.source,
        "counts": {
            "options": len(held.options),
            "names": sum(len(each.names) for each in held.options),
            "deprecated": _deprecated(held),
        },
    }


def _deprecated(held: Snapshot) -> int:
    return sum(each.deprecated is not None for each in held.options)


def _line(option: Option) -> str:
    """One option on one line: names, what it takes, default."""
    words = [", ".join(option.names)]
    if option.takes_value:
        words.append(f"[{option.type}{option.nargs or ''}]")
    if option.choices is not None:
        words.append("{" + ",".join(map(str, option.choices)) + "}")
    if option.deprecated is not None:
        words.append("(deprecated)")
    return printable(" ".join(words))


def _details(held: Snapshot, option: Option, flag: str) -> list[str]:
    lines = [f"{', '.join(option.names)}  ({held.title})"]
    if flag.partition("=")[0] not in option.names:
        lines.append(f"  {quoted(flag)} abbreviates it, until another flag begins like it")
    rows = {
        "kind": option.kind,
        "type": option.type,
        "values": _COUNTS.get(option.nargs, option.nargs),
        "choices": None if option.choices is None else ", ".join(map(str, option.choices)),
        "known": None if option.known is None else ", ".join(option.known),
        "default": None if option.default is None else str(option.default),
        "required": "yes" if option.required else None,
        "deprecated": option.deprecated,
        "sets": option.dest,
    }
    lines += [f"  {key:<10}  {value}" for key, value in rows.items() if value is not None]
    return [printable(line) for line in lines]
