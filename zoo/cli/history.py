"""``zoo history NAME``: what was released, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from zoo.cli.app import App, format_option
from zoo.cli.completion import recipes
from zoo.printable import printable

if TYPE_CHECKING:
    from zoo.release.versions import History, Version


@click.command("history")
@click.argument("name", metavar="NAME", shell_complete=recipes)
@format_option("text", "json")
@click.pass_obj
def command(app: App, name: str, form: str) -> None:
    """Show every version of a draft, from release/NAME/: when and where it was published and as which commit,
    the digest of its manifest, gates, evidence, aliases, and whether it is yanked or superseded. The newest
    comes first; nothing is asked of a hub."""
    from zoo.release.versions import read_history

    history = read_history(app.zoo, name)
    if form == "json":
        app.json(history.as_json())
        return
    app.out("\n".join(printable(line, keep="") for line in _lines(history)))


def _lines(history: History) -> Iterator[str]:
    for number, version in enumerate(reversed(history.versions)):
        if number:
            yield ""
        facts = [(key, value) for key, value in _facts(version) if value]
        width = max(len(key) for key, _ in facts)
        yield f"{history.name} {version.version}" + _marks(version)
        yield from (f"  {key:<{width}}  {value}" for key, value in facts)
    if history.changes:
        yield ""
        yield "since:"
        yield from (f"  {_day(time)}  {change}" for time, change in history.changes)


def _marks(version: Version) -> str:
    marks = ["YANKED"] if version.yanked else []
    marks += version.aliases
    marks += [] if version.published else ["proposed, not published"]
    return f"  ({', '.join(marks)})" if marks else ""


def _facts(version: Version) -> Iterator[tuple[str, str]]:
    yield "yanked", f"{version.yanked} ({_day(version.yanked_at)})" if version.yanked else ""
    for each in version.published:
        tag = f", tag {each.tag}" if each.tag else ""
        yield "published", f"{_day(each.time)} at {each.target} as {each.ref}{tag}"
    for proposal in version.proposed:
        yield "proposed", proposal
    yield "manifest", f"sha256 {version.manifest_sha256}"
    gates = version.gates
    yield (
        "gates",
        "not known: the recorded manifest is missing or is another one"
        if gates is None
        else ", ".join(f"{gate} {outcome.replace('_', ' ')}" for gate, outcome in gates.items()),
    )
    for record in version.evidence:
        ended = f" ({record.ended})" if record.ended else ""
        yield "evidence", f"{record.name} {record.outcome.replace('_', ' ')}{ended}"
    yield "superseded", f"by {version.superseded_by}" if version.superseded_by else ""


def _day(time: str) -> str:
    return time.partition("+")[0].replace("T", " ") + " UTC" if time else "at a time that is not recorded"
