"""``zoo card``: render the model card, or check the committed one for drift."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.card.check import check_card, usable_evidence
from zoo.card.plots import replays_of
from zoo.card.render import card_path, render_card
from zoo.card.standing import Standing, read_standing
from zoo.cli.app import App
from zoo.cli.completion import recipes
from zoo.cli.target import limit_option
from zoo.errors import CardDriftError, ReleaseRefusedError, UnreadableError
from zoo.evidence import Evidence, bound_to
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import UNKNOWN, Recipe
from zoo.release.paths import read
from zoo.remote.address import is_remote
from zoo.workspace import Zoo


@click.command("card")
@click.argument("name", metavar="NAME", shell_complete=recipes)
@click.option("--check", is_flag=True, help="Write nothing; fail when the committed card differs.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the card instead of writing it.")
@click.option("--plots", is_flag=True, help="Draw the plots of the replays first (needs matplotlib).")
@click.option(
    "--push", is_flag=True, help="Put the card of the released version on main of the hub, and nothing else."
)
@click.option(
    "--supersede",
    metavar="OLD_REPO",
    help="With --push: let the card of OWNER/NAME, where earlier versions are, name the new repository.",
)
@click.option("--to", metavar="hf|URL", help="With --push: which hub; one other than the Hub must be typed.")
@limit_option
@click.pass_obj
def command(
    app: App,
    name: str,
    check: bool,
    to_stdout: bool,
    plots: bool,
    push: bool,
    supersede: str | None,
    to: str | None,
    limit: float,
) -> None:
    """Render the model card of NAME from its recipe, its evidence and the template.

    It is written to release/NAME/VERSION/README.md, and its plots to plots/ there. A published version is
    frozen: its card can be checked and printed, and only the same card can be written. Without --plots the
    card shows the plots that are there, of records that have not changed since.

    A record of other weights does not count. Where there are records, the sha256 of the files is looked up:
    the Hub states it, small files in the zoo are read. What is not known so is noted.

    With --push the card as it renders today (later evidence, withdrawn versions, a better template) replaces
    the one on main of the hub, in a commit of README.md alone. The tag of the version keeps its card.
    """
    if check and to_stdout:
        raise click.UsageError("--check and --stdout do not go together")
    if push and (check or to_stdout or plots):
        raise click.UsageError("--push goes with none of --check, --stdout and --plots")
    if (to or supersede) and not push:
        raise click.UsageError("--to and --supersede need --push")
    zoo = app.zoo
    recipe = usable_recipe(zoo, name)
    standing = read_standing(zoo, recipe)
    path = card_path(zoo, recipe)
    if check and standing.card_sha256 is not None:
        app.out(f"{zoo.shown(path)}: {check_card(zoo, recipe, standing)}")
        return
    evidence = usable_evidence(zoo, recipe, standing)
    digest = None if standing.released or not evidence else _digest(app, recipe, limit)
    if digest is not None:
        evidence = bound_to(evidence, digest)
    if plots:
        _plots(app, recipe, evidence, standing, write=not (check or to_stdout))
    if check:
        app.out(f"{zoo.shown(path)}: {check_card(zoo, recipe, standing, digest)}")
        return
    text = render_card(zoo, recipe, evidence, standing)
    if push:
        from zoo.cli.card_push import push_card, push_successor

        if supersede is not None:
            push_successor(app, recipe, supersede, to, limit)
        else:
            push_card(app, recipe, text, to, limit)
    elif to_stdout:
        app.out(text.removesuffix("\n"))
    else:
        app.out(f"{zoo.shown(path)}: {_write(zoo, recipe, path, text, standing)}")


def _digest(app: App, recipe: Recipe, limit: float) -> str | None:
    """The digest of the checkpoint, by which a card tells the records of these bytes from others; None, and a
    note, where it is not known without reading weights. As for ``zoo ci``, the recipe may be a stranger's:
    only the Hub is asked, and only folders of the zoo are read."""
    from zoo.ci.files import known_digest, known_digests
    from zoo.ci.sources import folder_in
    from zoo.cli.remote import open_sources

    source = recipe.checkpoint.source
    why = "their sha256 is not known without reading them, which a release does"
    digest = None
    try:
        if source == UNKNOWN:
            why = "the recipe's source is unknown"
        elif source.startswith("hf://") or (not is_remote(source) and folder_in(app.zoo, source) is not None):
            checkpoint = open_sources("", limit).open(source, zoo=app.zoo)
            digest = known_digest(recipe, known_digests(checkpoint, recipe.checkpoint.files))
    except UnreadableError as error:
        why = error.message
    if digest is None:
        app.say(f"not checked: whether the evidence is of these weights ({why})")
    return digest


def _plots(
    app: App, recipe: Recipe, evidence: tuple[Evidence, ...], standing: Standing, *, write: bool
) -> None:
    """Draw the plots and write those that differ; without ``write``, refuse where one differs."""
    from zoo.atomic import write_atomically
    from zoo.replay.plots import draw

    folder = app.zoo.release_folder(recipe.name, recipe.version)
    made = [plot for record in replays_of(evidence) for plot in draw(record)]
    for plot in made:
        path = folder / plot.path
        if read(app.zoo, path) == plot.content:
            continue
        if not write:
            raise CardDriftError(
                f"{app.zoo.shown(path)}: not what this version of matplotlib draws of evidence {plot.record}",
                hint=f"run: zoo card {recipe.name} --plots",
            )
        if standing.released:
            raise _frozen(app.zoo, recipe, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, plot.content)
        app.note(f"wrote {app.zoo.shown(path)}")
    if not made:
        app.note("no plots: there is no replay that counts")


def _frozen(zoo: Zoo, recipe: Recipe, path: Path) -> ReleaseRefusedError:
    return ReleaseRefusedError(
        f"{zoo.shown(path)}: version {recipe.version} is published, and its card is frozen",
        hint=f"raise the version in {recipe.file}, then run: zoo card {recipe.name}",
    )


def _write(zoo: Zoo, recipe: Recipe, path: Path, text: str, standing: Standing) -> str:
    """Write the card, and say what became of it."""
    from zoo.atomic import write_atomically

    if read(zoo, path) == text.encode():
        return "up to date, nothing to do"
    if standing.released:
        raise _frozen(zoo, recipe, path)
    write_atomically(path, text.encode())
    return "written"
