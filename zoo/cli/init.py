"""``zoo init``: a new zoo with a first recipe that works, or one more recipe."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.atomic import write_all
from zoo.cli.app import App
from zoo.errors import UsageError
from zoo.printable import quoted
from zoo.recipe.names import is_name
from zoo.schemas import for_editors
from zoo.starter import starter


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option(
    "--recipe", "name", metavar="NAME", help="The name of the recipe to begin with.  [default: example-draft]"
)
@click.pass_obj
def command(app: App, folder: Path | None, name: str | None) -> None:
    """Make a new zoo in FOLDER, with a recipe, a target file and a profile to edit.

    Inside a zoo, without FOLDER: add the recipe NAME.
    """
    name = name or "example-draft"
    if not is_name(name):
        raise UsageError(
            f"{quoted(name)} cannot be a name", hint="use lower-case letters, digits, '.', '_' and '-'"
        )
    root = app.zoo.root if folder is None else folder
    wanted = {f"recipes/{name}.yaml": starter("recipe.yaml").replace("example-draft", name)}
    if folder is not None:
        wanted |= {
            "zoo.toml": starter("zoo.toml"),
            ".gitignore": "published/\n.zoo/\n",
        }
    wanted |= for_editors(root)
    for each in ("targets/example-target.yaml", "profiles/sglang-0.5.14-example.yaml"):
        if not (root / "recipes" / each).exists():
            wanted[f"recipes/{each}"] = starter(Path(each).name)
    if folder is not None and (root / ".gitignore").exists():
        del wanted[".gitignore"]
    taken = [path for path in wanted if (root / path).exists()]
    if taken:
        hint = f"choose another name: zoo init{f' {folder}' if folder else ''} --recipe NAME"
        raise UsageError(f"{root / taken[0]} exists already", hint=hint)
    write_all({root / path: text.encode() for path, text in wanted.items()})
    for path in wanted:
        app.out(f"wrote {root / path}")
    where = f" --zoo {folder}" if folder is not None and str(folder) != "." else ""
    app.note(f"Edit recipes/{name}.yaml, then try it without weights:")
    app.note(
        f"  zoo{where} standin {name} --out /tmp/{name} && zoo{where} verify {name} --checkpoint /tmp/{name}"
    )
    if folder is not None:
        app.note("To gate its pull requests, copy what docs/example-zoo has beside this: docs/ci.md")
