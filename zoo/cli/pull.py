"""``zoo pull``: download a release or a source, and prove what was downloaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli.app import App
from zoo.cli.progress import bytes_read
from zoo.cli.remote import open_sources, remote_options
from zoo.errors import NotAZooError, UnreadableError, UsageError, ZooError
from zoo.printable import printable, quoted

if TYPE_CHECKING:
    from zoo.pull.fetch import Fetched
    from zoo.pull.plan import Plan
    from zoo.recipe.model import Recipe
    from zoo.sources import Sources

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@click.command("pull")
@click.argument("source", metavar="NAME@VERSION|SOURCE")
@click.option("--out", metavar="FOLDER", help="Where to.  [default: ./NAME-VERSION, or the source's name]")
@remote_options
@click.pass_obj
def command(app: App, source: str, out: str | None, endpoint: str, timeout: float) -> int:
    """Download a release of this zoo, hf://OWNER/NAME@REVISION or https://HOST/FOLDER/ into a new folder.

    A branch or tag is resolved to its commit first. Of a release all files of its manifest come, of a source
    config, weights, index and tokenizer files; never code, never pickles. Every file is hashed while it is
    written and compared with what the manifest or the hub states. A download that broke off goes on where it
    stopped; Ctrl-C, SIGTERM and SIGHUP remove it. At the end, the command that serves the folder is printed,
    if its recipe is here.
    """
    from zoo.pull.fetch import fetch
    from zoo.pull.partial import holds_a_beginning, refuse_taken, resumable

    if out == "":
        raise UsageError("--out is empty", hint="--out FOLDER; is a variable unset?")
    sources = open_sources(endpoint, timeout)
    folder = Path(out).expanduser() if out is not None else Path(_default(source))
    refuse_taken(folder)
    try:
        plan = _plan(app, source, sources, endpoint)
    except ZooError as error:
        error.exit_status = 2  # nothing was judged: there is nothing to download, or it must not be
        raise
    with resumable(folder, plan.key) as hidden, bytes_read() as tell:
        _refuse_full(hidden, plan)
        try:
            files = fetch(plan, hidden, tell)
        except UnreadableError as error:
            if holds_a_beginning(hidden):
                error.hint += "; what came so far is kept, and the same command goes on from there"
            raise
    app.out("\n".join(printable(line, keep="", limit=400) for line in _said(plan, files, folder)))
    _show_launch(app, source, folder)
    return 0


def _plan(app: App, source: str, sources: Sources, endpoint: str) -> Plan:
    from zoo.pull.place import bytes_of, find_release
    from zoo.pull.plan import plan_release, plan_source
    from zoo.remote.address import is_remote

    if is_remote(source):
        return plan_source(sources.open(source))
    if "/" in source or "@" not in source:
        hint = "zoo pull NAME@VERSION, hf://OWNER/NAME@REVISION or https://HOST/FOLDER/"
        what = "is a folder already" if Path(source).is_dir() else "is neither a release nor a remote source"
        raise UsageError(f"{quoted(source)} {what}", hint=hint)
    release = find_release(app.zoo, source)
    app.warn_if_yanked(source)
    return plan_release(release, sources.open(bytes_of(release, endpoint)))


def _default(source: str) -> str:
    """The folder that a download goes to, named after what it is."""
    name = source.removeprefix("hf://").partition("@")[0] if source.startswith("hf://") else source
    name = name.rstrip("/").rpartition("/")[2].replace("@", "-")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{quoted(source)} gives no name for a folder", hint="add --out FOLDER")
    return name


def _refuse_full(folder: Path, plan: Plan) -> None:
    """Raises UsageError if the disk cannot hold what is still to come."""
    import shutil

    here = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    free, needed = shutil.disk_usage(folder).free, plan.nbytes - here
    if free < needed:
        raise UsageError(
            f"{quoted(str(folder.parent))} has {free:,} bytes free, and {needed:,} are to come",
            hint="free some space, or name another folder: --out FOLDER",
        )


def _said(plan: Plan, files: tuple[Fetched, ...], folder: Path) -> Iterator[str]:
    commit = f" (commit {plan.checkpoint.revision})" if plan.checkpoint.revision else ""
    yield f"{plan.label}{commit} is in {folder}"
    for file in files:
        by = file.wanted.stated_by
        proof = f"as {by} states" if by else "and the size that was announced; nobody states a sha256"
        again = f"; {file.resumed:,} bytes were here already" if file.resumed else ""
        yield f"  {file.wanted.path}  {file.wanted.size:,} bytes, sha256 {file.sha256[:12]}… {proof}{again}"
    yield f"  {len(plan.checkpoint.tensors):,} tensors, whose headers are those of the source"
    if plan.left_out:
        shown = ", ".join(plan.left_out[:10]) + (", ..." if len(plan.left_out) > 10 else "")
        yield f"  left there: {shown}"


def _show_launch(app: App, source: str, folder: Path) -> None:
    """Print the command that serves ``folder``, by the first profile of its recipe."""
    from zoo.engines.launch import launch_argv, shell
    from zoo.engines.vllm import speculation
    from zoo.recipe.model import ModelRef

    recipe = _recipe(app, source)
    if recipe is None:
        app.note(f"no recipe of this zoo is about {quoted(source)}: there is no launch command for it")
        return
    version = source.partition("@")[2]
    if "/" not in source and version != recipe.version:
        app.note(f"the recipe is about version {recipe.version} by now; its command may not fit {version}")
    target, draft = recipe.target.served, ModelRef(str(folder.resolve()))
    argv = launch_argv(recipe.profiles[0], target=target, draft=draft, speculation=speculation(recipe))
    app.out(printable("\n" + shell(argv)))


def _recipe(app: App, source: str) -> Recipe | None:
    """The recipe that ``source`` belongs to, if it is here and usable."""
    from zoo.recipe.load import load_recipe, recipe_names

    try:
        zoo = app.zoo
    except NotAZooError:
        return None
    wanted = source.partition("@")[0].rstrip("/")
    for name in recipe_names(zoo):
        recipe = load_recipe(zoo, name).recipe
        if recipe is not None:
            addresses = {f"hf://{recipe.repo}", recipe.checkpoint.source.partition("@")[0].rstrip("/")}
            if wanted == name or ("://" in wanted and wanted in addresses):
                return recipe
    return None
