"""``zoo release NAME``: a full dry run; with ``--push``, the publication of a version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.app import App, format_option
from zoo.cli.completion import recipes
from zoo.cli.target import hub_options, publishing_target
from zoo.errors import UsageError, ZooError
from zoo.printable import printable, quoted

if TYPE_CHECKING:
    from zoo.release.context import Done, Release, Skip
    from zoo.release.steps import Step
    from zoo.results import Finding
    from zoo.trust.keyless import Keyless
    from zoo.trust.keys import SigningKey


@click.command("release")
@click.argument("name", shell_complete=recipes)
@click.option(
    "--checkpoint", metavar="SOURCE", help="The folder with the files, instead of the recipe's source."
)
@click.option(
    "--push", is_flag=True, help="Publish. Without it nothing is written, and everything else really runs."
)
@click.option(
    "--to",
    "spec",
    metavar="dir:PATH|hf|URL",
    help="Where to publish: a folder, the Hub, or the hub at URL.  [default: publish_to of the settings]",
)
@click.option(
    "--unchecked",
    "reasons",
    metavar="GATE=REASON",
    multiple=True,
    help="Release although this gate was not checked; manifest, notes and card state the reason.",
)
@click.option("--allow-standin", is_flag=True, help="Release a stand-in; the manifest says that it is one.")
@click.option("--sign-key", metavar="FILE", help="Sign all files with this private key (EC, PEM).")
@click.option("--unsigned", is_flag=True, help="Publish without a signature although the zoo names signers.")
@click.option(
    "--certificate", metavar="FILE", help="The certificate of --sign-key, then those that issued it (PEM)."
)
@click.option(
    "--sign-keyless",
    is_flag=True,
    help="Sign with Sigstore as this CI job, or as who logs in. Never run yet.",
)
@click.option(
    "--identity-token-env", "token_env", metavar="VAR", help="Sign as the OIDC token in this variable says."
)
@hub_options
@format_option("text", "json")
@click.pass_obj
def command(
    app: App,
    name: str,
    checkpoint: str | None,
    push: bool,
    spec: str | None,
    reasons: tuple[str, ...],
    allow_standin: bool,
    sign_key: str | None,
    unsigned: bool,
    certificate: str | None,
    sign_keyless: bool,
    token_env: str | None,
    form: str,
    private: bool,
    gated: str,
    public_when_done: bool,
    propose: bool,
    limit: float,
) -> int:
    """Verify a draft down to every byte and publish it as the version that its recipe states.

    A released version never changes: releasing the same bytes again is a no-op, other bytes are refused.
    """
    from zoo.recipe.load import usable_recipe
    from zoo.release.context import Done, Plan, Release
    from zoo.release.steps import STEPS, run
    from zoo.release.targets.hub_options import HubOptions

    recipe = usable_recipe(app.zoo, name)
    hub = HubOptions(private, gated, public_when_done, propose, limit, note=app.say)
    plan = Plan(
        zoo=app.zoo,
        recipe=recipe,
        target=publishing_target(app.zoo, spec, recipe, hub),
        checkpoint=checkpoint,
        push=push,
        unchecked=_reasons(reasons),
        allow_standin=allow_standin,
        propose=hub.propose,
        note=hub.note,
        sign_key=_sign_key(sign_key, certificate, sign_keyless, token_env, unsigned),
        unsigned=unsigned,
    )
    release, told = Release(plan), dict[str, dict[str, Any]]()

    def tell(step: Step, outcome: Done | Skip) -> None:
        done = isinstance(outcome, Done)
        said = outcome.proved if isinstance(outcome, Done) else outcome.reason
        told[step.name] = {"outcome": "done" if done else "skipped", "detail": said}
        if form == "text":
            _show(app, step.name, said if done else f"skipped: {said}", "green" if done else "cyan")
            if step.name == "verify":
                _show_findings(app, release.verification.report.findings)

    error: ZooError | None = None
    try:
        run(release, tell)
    except ZooError as stopped:
        error = stopped
        failed = next(step.name for step in STEPS if step.name not in told)
        told[failed] = {"outcome": "failed", "detail": stopped.message}
    stops = [*release.refusals, *([error] if error else [])]
    status = error.exit_status if error else min((stop.exit_status for stop in stops), default=0)
    try:
        if form == "json":
            app.json(_document(release, told, stops, status))
        elif error is not None:
            _show(app, failed, "stopped", "red")
        else:
            _show_end(app, release, stops)
    finally:
        if error is not None:  # also where the output is what failed
            raise error
    return status


def _sign_key(
    key: str | None, certificate: str | None, keyless: bool, token_env: str | None, unsigned: bool
) -> SigningKey | Keyless | None:
    from zoo.cli.keys import key_to_sign, keyless_to_sign

    if unsigned and (keyless or key is not None):
        raise UsageError("--unsigned goes with no signature", hint="leave it out to sign")
    if key is None and certificate is not None:
        raise UsageError("--certificate is of a key", hint="add --sign-key FILE")
    if keyless and key is not None:
        raise UsageError("--sign-key and --sign-keyless are two signatures", hint="leave one of them out")
    if token_env is not None and not keyless:
        raise UsageError("--identity-token-env is about an identity", hint="add --sign-keyless")
    if keyless:
        return keyless_to_sign(token_env)
    return None if key is None else key_to_sign(key, certificate)


def _reasons(words: tuple[str, ...]) -> dict[str, str]:
    """``--unchecked GATE=REASON`` as gate -> reason."""
    from zoo.release.credentials import find
    from zoo.release.gates import GATES

    reasons: dict[str, str] = {}
    for word in words:
        gate, _, reason = word.partition("=")
        if gate not in GATES:
            raise UsageError(
                f"--unchecked: no gate {quoted(gate)}", hint=f"the gates are: {', '.join(GATES)}"
            )
        if gate in reasons or not reason.strip() or not reason.isprintable():
            raise UsageError(
                f"--unchecked {gate}: one reason on one line is needed",
                hint=f'write --unchecked {gate}="why it was not run"',
            )
        if (kind := find(reason.encode())) is not None:
            raise UsageError(
                f"--unchecked {gate}: the reason holds {kind}",
                hint="revoke it: the history of the shell has it by now",
            )
        reasons[gate] = reason.strip()
    return reasons


def _show(app: App, name: str, text: str, colour: str) -> None:
    app.out(f"{click.style(f'{name:<10}', fg=colour, bold=True)} {printable(text, keep='')}")


def _show_findings(app: App, findings: Iterable[Finding]) -> None:
    from zoo.report.text import finding_lines

    for finding in findings:
        for line in finding_lines(finding):
            app.out(f"           {line}")


def _show_end(app: App, release: Release, stops: list[ZooError]) -> None:
    plan = release.plan
    if plan.push:
        where = printable(plan.target.show(release.ref), keep="")
        verb = "is proposed at" if plan.target.pull_request else "is at"
        app.out(f"\n{plan.recipe.name} {plan.recipe.version} {verb} {where}")
        return
    for stop in stops:
        label = click.style("would be refused", fg="red", bold=True)
        app.out(f"\n{label}  {printable(stop.message, keep='')}")
        _show_findings(app, getattr(stop, "findings", ()))
        app.out(f"  -> {printable(stop.hint, keep='')}")
    after = "" if stops else f"; to publish: zoo release {plan.recipe.name} --push, with the same options"
    app.out(f"\ndry run: nothing was written{after}")


def _document(
    release: Release, told: dict[str, dict[str, Any]], stops: list[ZooError], status: int
) -> dict[str, Any]:
    """The run as ``zoo-release/1``."""
    plan = release.plan
    verification = getattr(release, "verification", None)
    manifest = getattr(release, "manifest", None)
    return {
        "schema": "zoo-release/1",
        "name": plan.recipe.name,
        "version": plan.recipe.version,
        "to": plan.target.spec,
        "push": plan.push,
        "steps": [{"name": name, **outcome} for name, outcome in told.items()],
        "report": verification.report.as_json() if verification else None,
        "manifest_sha256": manifest.sha256 if manifest else None,
        "refusals": [
            {"message": stop.message, "hint": stop.hint, "exit": stop.exit_status} for stop in stops
        ],
        "exit": status,
    }
