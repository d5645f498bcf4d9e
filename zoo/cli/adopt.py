"""``zoo adopt``: a recipe from an existing checkpoint."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from zoo.atomic import write_all
from zoo.cli.app import App
from zoo.cli.remote import open_sources, remote_options
from zoo.errors import UsageError
from zoo.printable import printable, quoted


@click.command("adopt")
@click.argument("folder", metavar="SOURCE")
@click.option("--name", required=True, help="The name of the new recipe.")
@click.option("--target", metavar="NAME", help="A target file here.  [default: a new one, NAME-target]")
@click.option("--profile", metavar="NAME", help="A profile here.  [default: a new one, NAME-profile]")
@remote_options
@click.pass_obj
def command(
    app: App,
    folder: str,
    name: str,
    target: str | None,
    profile: str | None,
    endpoint: str,
    timeout: float,
) -> None:
    """Write a recipe from a checkpoint: a folder, hf://OWNER/NAME@REVISION or https://HOST/FOLDER/.

    Everything that its files say is filled in; what only a person can say is left as TODO, which zoo verify
    refuses. What the config does not prove is unknown.
    """
    from zoo.drafts.family import family_of
    from zoo.recipe.adopt import adopt, as_yaml, profile_for, source_of, unstated
    from zoo.schemas import for_editors
    from zoo.starter import starter

    if not folder:
        raise UsageError("which folder?", hint="zoo adopt FOLDER --name NAME; is a variable unset?")
    _check_names(app, name, target, profile)
    checkpoint = open_sources(endpoint, timeout).open(folder)
    shown = shlex.quote(printable(folder, keep=""))
    if checkpoint.config is None:
        raise UsageError(f"{quoted(folder)} has no config.json to read", hint=f"see: zoo verify {shown}")
    family = family_of(checkpoint.config)
    if family is None:
        message = f"{quoted(folder)} is no draft that this version knows"
        raise UsageError(message, hint=f"see what it is: zoo verify {shown}")
    recipe, described = adopt(
        checkpoint,
        family,
        name,
        target or f"{name}-target",
        profile or f"{name}-profile",
        source_of(checkpoint, app.zoo.root),
    )
    recipes = app.zoo.recipes
    wanted = {recipes / f"{name}.yaml": as_yaml(recipe, "recipe-1", "../.zoo/recipe-1.json")}
    if target is None:
        text = as_yaml(described, "target-1", "../../.zoo/target-1.json")
        wanted[recipes / "targets" / f"{name}-target.yaml"] = text
    if profile is None:
        text = starter("sglang-0.5.14-example.yaml").replace("sglang-0.5.14-example", f"{name}-profile")
        text = profile_for(text, family.name, recipe["draft"].get("block_size"))
        wanted[recipes / "profiles" / f"{name}-profile.yaml"] = text
    wanted |= {app.zoo.root / path: text for path, text in for_editors(app.zoo.root).items()}
    for path in wanted:
        _check_place(app, path)
    write_all({path: text.encode() for path, text in wanted.items()})
    for path in wanted:
        app.out(f"wrote {app.zoo.shown(path)}")
    for key in unstated(family, checkpoint.config):
        app.note(f"left out: {printable(key, keep='')}, which a recipe cannot state; verify will report it")
    zoo = "" if app.folder == Path() else f" --zoo {shlex.quote(printable(str(app.folder), keep=''))}"
    found = "" if recipe["checkpoint"]["source"] != "unknown" else f" --checkpoint {shown}"
    app.note(f"Write what is TODO, then: zoo{zoo} verify {name}{found}")


def _check_names(app: App, name: str, target: str | None, profile: str | None) -> None:
    from zoo.recipe.names import is_name

    given = (name, f"{name}-profile", *(each for each in (target, profile) if each is not None))
    for each in given:
        if not is_name(each):
            hint = "use lower-case letters, digits, '.', '_' and '-', at most 72"
            raise UsageError(f"{quoted(each)} cannot be a name", hint=hint)
    for kind, named in (("targets", target), ("profiles", profile)):
        if named is not None and not (app.zoo.recipes / kind / f"{named}.yaml").is_file():
            hint = f"leave --{kind[:-1]} out to have one written"
            raise UsageError(f"there is no recipes/{kind}/{named}.yaml", hint=hint)


def _check_place(app: App, path: Path) -> None:
    shown = app.zoo.shown(path)
    if path.exists() or path.is_symlink():
        raise UsageError(f"{shown} exists already", hint="choose another --name")
    inside = app.zoo.root.resolve() / path.parent.relative_to(app.zoo.root)
    if path.parent.exists() and path.parent.resolve() != inside:
        raise UsageError(f"{app.zoo.shown(path.parent)} is a link", hint="put the folder itself there")
