"""``zoo verify``: check a draft against its recipe, or a folder on its own."""

from __future__ import annotations

import shlex
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo import __version__
from zoo.cli.app import App, format_option
from zoo.cli.completion import recipes
from zoo.cli.formats import FOR_SERVICES
from zoo.cli.moment import now_option
from zoo.cli.progress import Shown, bytes_read
from zoo.cli.remote import open_sources, remote_options
from zoo.errors import NotAZooError, ReleaseRefusedError, UsageError
from zoo.many import Told, told, verify_all
from zoo.printable import printable, quoted
from zoo.processes import default_jobs
from zoo.recipe.load import recipe_names
from zoo.remote.address import Remote
from zoo.results import Report
from zoo.rules import Level
from zoo.verify import verify_recipe, verify_source

if TYPE_CHECKING:
    from zoo.checkpoint.scan import DeepPass
    from zoo.trust.keyless import Signatory


@click.command("verify")
@click.argument("name", metavar="NAME|NAME@VERSION|SOURCE", required=False, shell_complete=recipes)
@click.option("--checkpoint", metavar="SOURCE", help="Look at this one, not at the recipe's source.")
@click.option("--base", metavar="SOURCE", help="The base draft, to compare with.")
@click.option("--target", metavar="SOURCE", help="The target, or its config.json, to compare with.")
@click.option("--deep", is_flag=True, help="Read every byte: hashes, NaN and Inf, tensors that are all zero.")
@click.option("--stats", is_flag=True, help="With the numbers of every tensor: range, mean, std, zeros.")
@click.option("--no-cache", "fresh", is_flag=True, help="Read unchanged files again.")
@click.option("--strict", is_flag=True, help="Count warnings as errors.")
@click.option("--all", "everything", is_flag=True, help="Verify every recipe of the zoo.")
@click.option(
    "--engine",
    "named",
    multiple=True,
    metavar="NAME==VERSION",
    help="Show what this engine makes of the draft (repeatable); all: every engine that was read.",
)
@click.option("--signature", is_flag=True, help="Check who signed the files, and all that was signed.")
@click.option(
    "--key", metavar="FILE", help="The public key to trust, or the certificates of an authority (PEM)."
)
@click.option("--signer", metavar="NAME", help="Trust only this signer of the zoo's settings.")
@click.option("--identity", metavar="ID", help="Trust exactly this identity of Sigstore: a mail, a workflow.")
@click.option("--identity-provider", "provider", metavar="URL", help="Who must have stated --identity.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="With --all: verify in so many processes.  [default: one per core]",
)
@now_option
@remote_options
@format_option("text", "json", "markdown", *FOR_SERVICES)
@click.pass_obj
def command(
    app: App,
    name: str | None,
    checkpoint: str | None,
    base: str | None,
    target: str | None,
    deep: bool,
    stats: bool,
    fresh: bool,
    strict: bool,
    everything: bool,
    named: tuple[str, ...],
    signature: bool,
    key: str | None,
    signer: str | None,
    identity: str | None,
    provider: str | None,
    jobs: int | None,
    now: date | None,
    endpoint: str,
    timeout: float,
    form: str,
) -> int:
    """Check a draft.

    NAME is a recipe of this zoo; its checkpoint is compared with it. NAME@VERSION is a release, whose files
    must also be those of its manifest. Anything with a slash is a SOURCE, which is checked on its own: a
    folder, hf://OWNER/NAME@REVISION or https://HOST/FOLDER/. Reads headers and small files only, unless
    --deep. A base draft or target that is a folder of the zoo needs no option.

    With --engine, a matrix shows what becomes of each tensor. A recipe is judged by the engines of its
    profiles, whatever is shown; a SOURCE by those that --engine names, but not by all.

    With --signature, a release or a SOURCE must be signed (docs/trust.md): by --key, by --identity or,
    in a zoo, by one of its signers.
    """
    from zoo.engines.readings import KNOWN, parse_engine

    level = Level.DEEP if deep or stats else Level.HEADER
    judges = tuple(parse_engine(each) for each in named if each != "all")
    for option, value in (("--checkpoint", checkpoint), ("--base", base), ("--target", target)):
        if value == "":
            raise UsageError(f"{option} is empty", hint=f"{option} FOLDER; is a variable unset?")
    if everything and (name or checkpoint or base or target):
        raise UsageError("--all takes no name and no folder", hint="zoo verify --all")
    if jobs is not None and (not everything or (jobs > 1 and level is Level.DEEP)):
        raise UsageError(
            "--jobs is about --all without --deep",
            hint="leave it out: a deep pass uses several cores by itself",
        )
    shown = KNOWN if "all" in named else tuple(dict.fromkeys(judges))
    trusted = _trusted(app, name, signature, key, signer, identity, provider)
    sources = open_sources(endpoint, timeout)
    with bytes_read() as progress:
        how = _deep_pass(progress, stats, fresh) if level is Level.DEEP else None
        if everything or name is None:
            names = _all_names(app, everything)
            many = verify_all(
                app.zoo,
                names,
                remote=Remote(endpoint, timeout),
                jobs=1 if level is Level.DEEP else jobs or default_jobs(len(names)),
                level=level,
                strict=strict,
                engines=shown,
                stats=stats,
                deep=how,
                today=now,
            )
            return _show(app, many, form, everything)
        if _is_source(app, name, checkpoint, base):
            runs = [
                verify_source(
                    name,
                    target=target,
                    level=level,
                    strict=strict,
                    engines=judges,
                    deep=how,
                    sources=sources,
                )
            ]
            if trusted is not None:
                from zoo.trust.verify import check_trust

                runs = [check_trust(run, trusted, level is Level.DEEP) for run in runs]
        elif "@" in name:
            from zoo.pull.verify import How, verify_release

            app.warn_if_yanked(name)
            asked = How(
                target=target,
                level=level,
                strict=strict,
                engines=judges,
                deep=how,
                sources=sources,
                endpoint=endpoint,
                today=now,
            )
            try:
                runs = [verify_release(app.zoo, name, asked, trusted)]
            except ReleaseRefusedError as error:
                if form == "json":
                    app.json(_refusal(name, level, error))
                raise
        else:
            runs = [
                verify_recipe(
                    app.zoo,
                    name,
                    checkpoint=checkpoint,
                    base=base,
                    target=target,
                    level=level,
                    strict=strict,
                    deep=how,
                    sources=sources,
                    today=now,
                )
            ]
    return _show(app, [told(run, shown, stats) for run in runs], form, everything)


def _trusted(
    app: App,
    name: str | None,
    signature: bool,
    key: str | None,
    signer: str | None,
    identity: str | None,
    provider: str | None,
) -> tuple[Signatory, ...] | None:
    """Whose signature counts, or None where none is asked for."""
    from zoo.cli.keys import keys_to_trust

    if not signature:
        if (key, signer, identity, provider) != (None,) * 4:
            raise UsageError("--key, --signer and --identity are about a signature", hint="add --signature")
        return None
    if name is None or not ("/" in name or "@" in name or name in (".", "..")):
        raise UsageError(
            "--signature is about a release or a source: a recipe is not signed",
            hint="zoo verify NAME@VERSION --signature, or zoo verify SOURCE --signature --key FILE",
        )
    return keys_to_trust(app, key, signer, identity, provider)


def _deep_pass(progress: Shown | None, stats: bool, fresh: bool) -> DeepPass:
    from zoo.checkpoint.cache import NO_CACHE, user_cache
    from zoo.checkpoint.scan import DeepPass

    expect = None if progress is None else progress.expect
    return DeepPass(progress, stats, NO_CACHE if fresh else user_cache(), expect)


def _refusal(name: str, level: Level, error: ReleaseRefusedError) -> dict[str, Any]:
    """The report of a release that is not what was released: no rule judged it."""
    document = Report(str(level), {"release": name}, (), tool=f"draft-zoo {__version__}").as_json()
    document["summary"]["errors"] = 1
    refused = {"message": error.message, "hint": error.hint}
    return document | {"exit": error.exit_status, "refused": refused}


def _all_names(app: App, everything: bool) -> list[str]:
    if not everything:
        raise UsageError("which draft?", hint="zoo verify NAME, or zoo verify --all; see: zoo list")
    names = recipe_names(app.zoo)
    if not names:
        raise UsageError("this zoo has no recipes", hint="write one: zoo init --recipe NAME")
    return names


def _is_source(app: App, name: str, checkpoint: str | None, base: str | None) -> bool:
    """Whether ``name`` is a source, and not a recipe or a release; what is none of them is refused."""
    if "/" in name or name in (".", ".."):
        if checkpoint:
            hint = "zoo verify NAME --checkpoint FOLDER"
            raise UsageError(f"{quoted(name)} is a source itself: --checkpoint needs a recipe", hint=hint)
        if base:
            raise UsageError(
                f"{quoted(name)} is a source without a recipe, and only a recipe says what a base is for",
                hint=f"compare the two: zoo diff {_shown(base)} {_shown(name)}; or write a recipe: "
                f"zoo adopt {_shown(name)} --name NAME",
            )
        if (Path(name) / "zoo.toml").is_file() or (Path(name) / "recipes").is_dir():
            hint = "zoo verify NAME or zoo verify --all inside it; see: zoo list"
            raise UsageError(f"{quoted(name)} is a zoo, not a checkpoint", hint=hint)
        if name.endswith((".yaml", ".yml")) and Path(name).is_file():
            hint = f"name the recipe: zoo verify {Path(name).stem}"
            raise UsageError(f"{quoted(name)} is a file", hint=hint)
        if name.endswith("/") and not Path(name).exists() and _is_recipe(app, name.rstrip("/")):
            hint = f"name the recipe: zoo verify {_shown(name.rstrip('/'))}"
            raise UsageError(f"there is no folder {quoted(name)}, but a recipe", hint=hint)
        return True
    if "@" in name:
        if checkpoint or base:
            hint = "verify the recipe: zoo verify NAME --checkpoint FOLDER"
            raise UsageError(f"{quoted(name)} is a release, which has its own files", hint=hint)
        return False
    if Path(name).is_dir() and name not in recipe_names(app.zoo):
        raise UsageError(
            f"there is no recipe {quoted(name)}, but a folder",
            hint=f"for the folder: zoo verify ./{name}",
        )
    return False


def _is_recipe(app: App, name: str) -> bool:
    """Whether there is a recipe of this name; outside a zoo there is none."""
    try:
        return name in recipe_names(app.zoo)
    except NotAZooError:
        return False


def _shown(text: str) -> str:
    """A source as a person would type it."""
    return shlex.quote(printable(text, keep=""))


def _show(app: App, runs: list[Told], form: str, everything: bool) -> int:
    """Print what is told of each run; the exit status of all of them."""
    if form == "json":
        documents = [_document(run) for run in runs]
        app.json({"schema": "zoo-reports/1", "reports": documents} if everything else documents[0])
    elif form != "text":
        app.out(_for_others(app, [run.report for run in runs], form))
    else:
        for index, run in enumerate(runs):
            if len(runs) > 1:
                app.out(("\n" if index else "") + f"== {run.report.subject.get('recipe')}")
            _tell(app, run)
    statuses = {run.report.exit_status for run in runs}
    return 1 if 1 in statuses else max(statuses)


def _for_others(app: App, reports: list[Report], form: str) -> str:
    """The reports, by recipe or source, for a page or a service."""
    from zoo.cli.formats import prefix_of, render
    from zoo.report.summary import render_reports

    facts = [report.subject for report in reports]
    names = [str(each.get("recipe") or each.get("checkpoint") or "draft") for each in facts]
    named = list(zip(names, reports, strict=True))
    if form == "markdown":
        return render_reports(named).rstrip()
    prefix = prefix_of(app.zoo.root) if any("file" in each for each in facts) else ""
    return render(form, named, prefix, "zoo verify")


def _document(run: Told) -> dict[str, Any]:
    from zoo.report.engines import engines_json
    from zoo.report.numbers import numbers_json

    document = run.report.as_json()
    if run.readings != ():
        document["engines"] = engines_json(run.readings or (), implied=run.implied)
    if run.scan is not None:
        document["tensors"] = numbers_json(run.scan)
    return document


def _tell(app: App, run: Told) -> None:
    from zoo.report.text import render

    app.out(render(run.report))
    if run.scan is not None:
        from zoo.report.numbers import render_numbers

        app.out("\n" + render_numbers(run.scan))
    if run.readings:
        from zoo.report.engines import render_engines

        app.out("\n" + render_engines(run.readings, implied=run.implied))
    elif run.readings is None:
        app.out("\nno engine can be asked: config.json or a header cannot be read")
