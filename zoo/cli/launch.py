"""``zoo launch``: the command that serves a draft, and what is wrong with one in a file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from zoo.cli.app import App, format_option
from zoo.cli.completion import recipes
from zoo.engines.launch import launch_argv, shell
from zoo.engines.vllm import speculation
from zoo.errors import UnreadableError, UsageError
from zoo.printable import printable, quoted
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import ModelRef, Recipe
from zoo.recipe.validate import did_you_mean
from zoo.release.credentials import find as credential
from zoo.report.text import finding_lines
from zoo.results import Finding, Severity
from zoo.rules import Level, Subject, run
from zoo.workspace import Zoo

# A page of commands has some kilobytes.
_LARGEST = 256 * 1024


@click.command("launch")
@click.argument("name", metavar="NAME", required=False, shell_complete=recipes)
@click.option("--profile", metavar="PROFILE", help="One of the recipe's profiles.  [default: the first]")
@click.option("--draft", metavar="PATH", help="Serve this folder or repository as the draft.")
@click.option("--target", metavar="PATH", help="Serve this folder or repository as the target.")
@click.option("--host", help="Add --host.")
@click.option("--port", type=click.IntRange(1, 65535), help="Add --port.")
@click.option(
    "--check",
    metavar="FILE|-",
    help="Judge the launch commands in a script, a README or standard input instead.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="NAME==VERSION",
    help="With --check: as which version (repeatable).  [default: that of the image, or of --recipe]",
)
@click.option("--recipe", "served", metavar="NAME", help="With --check: they serve the draft of this recipe.")
@click.option("--gpu", metavar="GPU", default="", help="With --check: the hardware, e.g. H200.")
@click.option("--strict", is_flag=True, help="With --check: count warnings as errors.")
@format_option("shell", "text", "json")
@click.pass_obj
def command(
    app: App,
    name: str | None,
    profile: str | None,
    draft: str | None,
    target: str | None,
    host: str | None,
    port: int | None,
    check: str | None,
    engines: tuple[str, ...],
    served: str | None,
    gpu: str,
    strict: bool,
    form: str,
) -> int:
    """Print the command that serves a draft, exactly as the recipe means it.

    What is wrong with it, or will be with another engine version, is said on stderr; exit 1 for an error.
    The JSON form gives argv, environment and image, for Slurm, Kubernetes or Ray.

    With --check, judge the commands of SGLang and vLLM in a file as the arguments' own parser would, and by
    what is known of that version beside a draft (--recipe NAME, or --draft FOLDER). Nothing is run.
    """
    if check is not None:
        for option, value in (
            ("NAME", name),
            ("--profile", profile),
            ("--target", target),
            ("--host", host),
            ("--port", port),
        ):
            if value is not None:
                hint = "zoo launch --check FILE --recipe NAME"
                raise UsageError(f"--check takes no {option}", hint=hint)
        return _check(app, check, engines, served, draft, gpu, strict, form)
    if engines or served or gpu or strict or form == "text":
        raise UsageError("--engine, --recipe, --gpu, --strict and --format text need --check", hint=_USAGE)
    if name is None:
        raise UsageError("which draft?", hint="zoo launch NAME; see: zoo list")
    recipe = usable_recipe(app.zoo, name)
    by_name = {each.name: each for each in recipe.profiles}
    if profile is not None and profile not in by_name:
        hint = did_you_mean(profile, by_name).strip() or f"its profiles: {', '.join(by_name)}"
        raise UsageError(f"recipe {name} has no profile {profile}", hint=hint)
    chosen = by_name[profile] if profile else recipe.profiles[0]
    argv = launch_argv(
        chosen,
        target=ModelRef(target) if target else recipe.target.served,
        draft=ModelRef(draft or recipe.repo),
        host=host,
        port=port,
        speculation=speculation(recipe),
    )
    findings = [each for each in _findings(app.zoo, recipe) if each.where.file in (chosen.file, recipe.file)]
    for finding in findings:
        app.note("\n".join(finding_lines(finding)))
    if any(finding.code == "L011" for finding in findings) or credential(" ".join(argv).encode()):
        app.note(f"zoo: the command of {printable(chosen.name)} is not printed: it holds a credential")
        return 1
    status = int(any(finding.severity is Severity.ERROR for finding in findings))
    if form == "json":
        app.json(
            {
                "schema": "launch/1",
                "profile": chosen.name,
                "engine": chosen.data["engine"],
                "argv": argv,
                "environment": dict(chosen.environment),
                "image": chosen.image or None,
            }
        )
    else:
        exports = [f"export {key}={shlex.quote(value)}" for key, value in chosen.environment.items()]
        app.out(printable("\n".join([*exports, shell(argv)])))
    return status


_USAGE = "zoo launch --check FILE --engine sglang==VERSION"


def _findings(zoo: Zoo, recipe: Recipe) -> list[Finding]:
    """What the rules about engines and launch commands say of this recipe: errors and hazards."""
    results = run(Subject(recipe, None, severity=zoo.severity), Level.HEADER)
    return [finding for result in results if result.code[0] in "LE" for finding in result.findings]


def _check(
    app: App,
    file: str,
    engines: tuple[str, ...],
    served: str | None,
    draft: str | None,
    gpu: str,
    strict: bool,
    form: str,
) -> int:
    from zoo.engines.commands import find
    from zoo.lint import lint
    from zoo.report.text import render
    from zoo.sources import Sources

    if served and draft:
        raise UsageError("--recipe and --draft both say which draft it is", hint="give one of them")
    report = lint(
        find(_read(file), "standard input" if file == "-" else file),
        engines=[_pair(each) for each in engines],
        recipe=usable_recipe(app.zoo, served) if served else None,
        draft=Sources().open(draft) if draft else None,
        gpu=gpu,
        strict=strict,
        severity=app.zoo.severity if served else None,
    )
    if form == "json":
        app.json(report.as_json())
    else:
        app.out(render(report))
    return report.exit_status


def _pair(text: str) -> tuple[str, str]:
    """``sglang==0.5.14`` as engine and version."""
    from zoo.engines.options import snapshot, snapshots

    engine, found, version = text.partition("==")
    if not found or snapshot(engine, version) is None:
        known = ", ".join("==".join(pair) for pair in snapshots())
        raise UsageError(f"the flags of {quoted(text)} are not known", hint=f"known are {known}")
    return engine, version


def _read(file: str) -> str:
    """The text of ``file``; bytes that are no UTF-8 become replacement characters."""
    if file == "-":
        content = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        path = Path(file)
        if path.exists() and not path.is_file():
            raise UnreadableError(f"{quoted(file)} is not a file", hint="name a script or a README")
        with path.open("rb") as opened:
            content = opened.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise UnreadableError(f"{quoted(file)} has more than 256 KiB", hint="give the part with the command")
    return content.decode("utf-8", "replace")
