"""``zoo adopt``: a recipe from an existing checkpoint."""

from __future__ import annotations

import click

from zoo.atomic import write_atomically
from zoo.cli.app import App
from zoo.errors import UsageError
from zoo.printable import quoted


@click.command("adopt")
@click.argument("folder", metavar="FOLDER")
@click.option("--name", required=True, help="The name of the new recipe.")
@click.option("--target", metavar="NAME", help="A target file here.  [default: a new one, NAME-target]")
@click.option("--profile", metavar="NAME", help="A profile here.  [default: a new one, NAME-profile]")
@click.pass_obj
def command(app: App, folder: str, name: str, target: str | None, profile: str | None) -> None:
    """Write a recipe from a DFlash checkpoint.

    Everything that its files say is filled in; what only a person can say is left as TODO, which zoo verify
    refuses. What the config does not prove is unknown.
    """
    from zoo.checkpoint.folder import open_checkpoint
    from zoo.drafts.family import family_of
    from zoo.recipe.adopt import adopt, as_yaml
    from zoo.recipe.names import is_name
    from zoo.starter import starter
    from zoo.verify import local_folder

    for each in (name, target or name, profile or name):
        if not is_name(each):
            raise UsageError(
                f"{quoted(each)} cannot be a name", hint="use lower-case letters, digits, '.', '_' and '-'"
            )
    checkpoint = open_checkpoint(local_folder(None, folder), folder)
    family = family_of(checkpoint.config or {})
    if family is None or family.name != "dflash":
        found = "no draft that this version knows" if family is None else f"a {family.title} draft"
        raise UsageError(f"{quoted(folder)} is {found}", hint="recipes are for DFlash drafts in this version")
    recipe, described = adopt(checkpoint, name, target or f"{name}-target", profile or f"{name}-profile")
    recipes = app.zoo.recipes
    wanted = {recipes / f"{name}.yaml": as_yaml(recipe, "../.zoo/recipe-1.json")}
    if target is None:
        text = as_yaml(described, "../../.zoo/target-1.json")
        wanted[recipes / "targets" / f"{name}-target.yaml"] = text
    if profile is None:
        text = starter("sglang-0.5.14-example.yaml").replace("sglang-0.5.14-example", f"{name}-profile")
        text = text.replace("block-size 8", f"block-size {recipe['draft']['block_size']}")
        wanted[recipes / "profiles" / f"{name}-profile.yaml"] = text
    for path in wanted:
        if path.exists():
            raise UsageError(f"{app.zoo.shown(path)} exists already", hint="choose another --name")
    for path, text in wanted.items():
        write_atomically(path, text.encode())
        app.out(f"wrote {app.zoo.shown(path)}")
    app.note(f"Write what is TODO, then: zoo verify {name} --checkpoint {folder}")
