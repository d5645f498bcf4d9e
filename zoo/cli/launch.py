"""``zoo launch``: the command that serves a draft."""

from __future__ import annotations

import shlex

import click

from zoo.cli.app import App, format_option
from zoo.engines.launch import launch_argv, shell
from zoo.errors import UsageError
from zoo.printable import printable
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import ModelRef, Recipe
from zoo.recipe.validate import did_you_mean
from zoo.report.text import finding_lines
from zoo.results import Finding, Severity
from zoo.rules import Level, Subject, run


@click.command("launch")
@click.argument("name", metavar="NAME")
@click.option("--profile", metavar="PROFILE", help="One of the recipe's profiles.  [default: the first]")
@click.option("--draft", metavar="PATH", help="Serve this folder or repository as the draft.")
@click.option("--target", metavar="PATH", help="Serve this folder or repository as the target.")
@click.option("--host", help="Add --host.")
@click.option("--port", type=click.IntRange(1, 65535), help="Add --port.")
@format_option("shell", "json")
@click.pass_obj
def command(
    app: App,
    name: str,
    profile: str | None,
    draft: str | None,
    target: str | None,
    host: str | None,
    port: int | None,
    form: str,
) -> int:
    """Print the command that serves a draft, exactly as the recipe means it.

    What is wrong with it, or will be with another engine version, is said on stderr; exit 1 for an error.
    The JSON form gives argv, environment and image, for Slurm, Kubernetes or Ray.
    """
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
    )
    findings = [each for each in _findings(recipe) if each.where.file in (chosen.file, recipe.file)]
    for finding in findings:
        app.note("\n".join(finding_lines(finding)))
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


def _findings(recipe: Recipe) -> list[Finding]:
    """What the rules about engines and launch commands say of this recipe: errors and hazards."""
    results = run(Subject(recipe, None), Level.HEADER)
    return [finding for result in results if result.code[0] in "LE" for finding in result.findings]
