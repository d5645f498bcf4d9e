"""``zoo ci``: whether a pull request may enter the zoo."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from zoo.ci.render import FORMS, render
from zoo.cli.app import App, format_option
from zoo.cli.moment import now_option
from zoo.cli.remote import remote_options
from zoo.errors import UsageError
from zoo.printable import quoted
from zoo.remote.address import Remote


@click.command("ci")
@click.option("--base", metavar="REF", help="Compare with where HEAD left this branch or commit.")
@click.option(
    "--hub-pr",
    metavar="OWNER/NAME#N",
    help="Judge pull request N of a model repository, by the recipes of this zoo.",
)
@click.option(
    "--github-pr", metavar="OWNER/NAME#N", help="The pull request on GitHub that --comment is about."
)
@click.option(
    "--comment",
    is_flag=True,
    help="Say it in the pull request (--hub-pr or --github-pr), in one comment that is updated.",
)
@click.option("--offline", is_flag=True, help="Contact nobody: a draft that is elsewhere is not checked.")
@click.option(
    "--write",
    "files",
    multiple=True,
    metavar="FORMAT=FILE",
    help="Write this form to FILE as well (repeatable).",
)
@now_option
@remote_options
@format_option(*FORMS)
@click.pass_obj
def command(
    app: App,
    base: str | None,
    hub_pr: str | None,
    github_pr: str | None,
    comment: bool,
    offline: bool,
    files: tuple[str, ...],
    now: date | None,
    endpoint: str,
    timeout: float,
    form: str,
) -> int:
    """Judge a pull request: what the work tree has otherwise than the base.

    Looks only at what the change touches: recipes that it edits or that depend on what it edits (extends,
    targets, profiles, named files, templates, evidence). Each is verified at header level, its card checked,
    its evidence bound to it, its version compared with what was published, and all of it with the base.

    The settings of the base say whom to trust and which servers to contact; the change cannot say so itself.

    With --hub-pr the change is a pull request on a hub, judged by the recipes here that have this repository.
    With --offline --base HEAD it is what is not committed yet, as a hook of git wants it.

    Exit status: 0 it may enter, 1 a finding stops it, 2 something that it needs could not be checked. A
    source out of reach is not checked, and stops only a change of its own recipe.
    """
    wanted = [_file(each) for each in files]
    _refuse(base, hub_pr, github_pr, comment, offline)
    if app.folder != Path() and app.zoo.root != app.folder.resolve():
        # A change could take the settings away, and those of a folder above would count.
        hint = "name the folder that has them; if the change took them away, it is no zoo any more"
        raise UsageError(f"{quoted(str(app.folder))} has no settings of a zoo", hint=hint)
    from zoo.ci.run import check_change

    remote, today = Remote(endpoint, timeout), now or date.today()
    if hub_pr is None:
        result = check_change(app.zoo, base, remote, today, offline=offline)
    else:
        from zoo.ci.hub import check_hub_change

        result = check_hub_change(app.zoo, hub_pr, remote, today)
    for kind, path in wanted:
        _write(path, click.unstyle(render(result, kind)) + "\n")
    app.out(render(result, form))
    if comment:
        from zoo.report.comment import MARK

        body = render(result, "comment")
        if github_pr is not None:
            from zoo.ci import github

            app.say(github.post(github_pr, body, MARK, timeout))
        else:
            from zoo.ci import hub

            app.say(hub.post(hub_pr or "", body, MARK, remote, app.say))
    return result.exit_status


def _refuse(
    base: str | None, hub_pr: str | None, github_pr: str | None, comment: bool, offline: bool
) -> None:
    """Raises UsageError where the options do not go together."""
    if comment and hub_pr is None and github_pr is None:
        hint = "zoo ci --github-pr OWNER/NAME#N --comment, or --hub-pr OWNER/NAME#N --comment"
        raise UsageError("--comment needs --github-pr or --hub-pr", hint=hint)
    if github_pr is not None:
        from zoo.ci.github import parse

        if not comment or hub_pr is not None:
            hint = "the work tree is judged; --github-pr OWNER/NAME#N --comment says it there"
            raise UsageError("--github-pr is about --comment", hint=hint)
        parse(github_pr)
    if hub_pr is not None and base is not None:
        hint = "a pull request of a hub is compared with its main"
        raise UsageError("--base and --hub-pr do not go together", hint=hint)
    if offline and (hub_pr is not None or comment):
        raise UsageError("--offline asks nobody", hint="leave it out")


def _write(path: Path, text: str) -> None:
    """A report; where the disk is full, no part of one is left."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        if path.is_file():
            path.unlink()
        raise


def _file(written: str) -> tuple[str, Path]:
    """FORMAT and FILE of ``--write``."""
    kind, _, name = written.partition("=")
    if kind not in FORMS or not name:
        raise UsageError(
            f"--write {written!r} is not FORMAT=FILE", hint=f"FORMAT is one of: {', '.join(FORMS)}"
        )
    return kind, Path(name)
