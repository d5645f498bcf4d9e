"""``zoo merge NAME@VERSION``: make the pull request that ``zoo release --pr`` opened the version."""

from __future__ import annotations

import click

from zoo.cli.app import App
from zoo.cli.completion import recipes
from zoo.cli.target import hub_target, limit_option
from zoo.errors import UsageError
from zoo.printable import printable, quoted


@click.command("merge")
@click.argument("spec", metavar="NAME@VERSION", shell_complete=recipes)
@click.option(
    "--to", metavar="hf|URL", help="The hub that it was proposed to; one other than the Hub must be typed."
)
@limit_option
@click.pass_obj
def command(app: App, spec: str, to: str | None, limit: float) -> int:
    """Compare the pull request of a proposed version with what was proposed, merge it, compare what was
    merged, tag it, and record it.

    It may be repeated: what is done already is found, and not done again.
    """
    from zoo.release.merge import find_proposed, merge
    from zoo.release.targets.hub_options import HubOptions

    merging = find_proposed(app.zoo, spec)
    proposed = merging.proposed
    if proposed.target != "hf" and (to or "").rstrip("/") != proposed.target:
        raise UsageError(
            f"{spec} was proposed at {quoted(proposed.target)}",
            hint=f"if you trust that server with your token, add: --to {printable(proposed.target, keep='')}",
        )
    options = HubOptions(limit=limit, note=app.say)
    target = hub_target(to or proposed.target, merging.name, str(merging.manifest.document["repo"]), options)

    def tell(step: str, proved: str) -> None:
        app.out(f"{click.style(f'{step:<10}', fg='green', bold=True)} {printable(proved, keep='')}")

    ref = merge(merging, target, tell, app.say)
    app.out(f"\n{merging.name} {proposed.version} is at {printable(target.show(ref), keep='')}")
    return 0
