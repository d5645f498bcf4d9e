"""``--to`` and what belongs to it: the publishing target that a command line names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.errors import SettingsError, UsageError
from zoo.printable import printable, quoted

if TYPE_CHECKING:
    from zoo.recipe.model import Recipe
    from zoo.release.targets import PublishingTarget
    from zoo.release.targets.directory import DirectoryTarget
    from zoo.release.targets.hub import HubTarget
    from zoo.release.targets.hub_options import HubOptions
    from zoo.workspace import Zoo

_HINT = "use --to dir:PATH, --to hf, or --to https://HOST"


def limit_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the option ``limit``."""
    return click.option(
        "--timeout",
        "limit",
        type=click.FloatRange(1, 86400),
        default=300.0,
        show_default=True,
        metavar="SECONDS",
        help="How long a hub that is in trouble is asked again.",
    )(command)


def hub_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options that are about a hub alone."""
    private = click.option(
        "--private",
        is_flag=True,
        help="Refuse to publish to a repository that is public. (A new one is private at first anyway.)",
    )
    gated = click.option(
        "--gated",
        type=click.Choice(("auto", "manual")),
        help="People ask for access, which is granted at once or by hand.",
        callback=lambda context, option, value: value or "",
    )
    public = click.option(
        "--public-when-done", is_flag=True, help="Make the repository public, as the very last thing."
    )
    propose = click.option(
        "--pr", "propose", is_flag=True, help="Open a pull request instead; zoo merge makes it the version."
    )
    return private(gated(public(propose(limit_option(command)))))


def publishing_target(zoo: Zoo, spec: str | None, recipe: Recipe, options: HubOptions) -> PublishingTarget:
    """The publishing target that ``--to`` or the settings name. What is typed by hand may be anything. The
    settings, which a pull request may change, name a folder of the zoo or the Hub, and no other server: the
    token would go there."""
    typed = spec is not None
    spec = spec if spec is not None else zoo.publish_to
    settings = zoo.shown(zoo.settings_file)
    if not spec:
        raise UsageError(
            "nothing says where to publish", hint=f"add --to dir:PATH, or set publish_to in {settings}"
        )
    if spec == "hf" or spec.startswith(("https://", "http://")):
        if not typed and spec != "hf":
            raise SettingsError(
                f"publish_to {quoted(spec)} of {settings}: a server must be typed",
                hint=f"if you trust it with your token: --to {spec}",
            )
        return hub_target(spec, recipe.name, recipe.repo, options)
    if options.any:
        asked = {
            "--private": options.private,
            "--gated": options.gated,
            "--public-when-done": options.public_when_done,
            "--pr": options.propose,
        }
        given = [name for name, typed_it in asked.items() if typed_it]
        verb = "is" if len(given) == 1 else "are"
        raise UsageError(
            f"{' and '.join(given)} {verb} about a hub, and {quoted(spec)} is none",
            hint="add --to hf, or --to https://HOST",
        )
    return folder_target(zoo, spec, recipe.name, typed)


def hub_target(spec: str, name: str, repo: str, options: HubOptions) -> HubTarget:
    """The hub that ``spec`` names: ``hf`` is huggingface.co, or what the user set as HF_ENDPOINT."""
    from zoo.release.targets.hub import HubTarget

    if options.private and options.public_when_done:
        raise UsageError(
            "--private and --public-when-done contradict each other", hint="leave one of them out"
        )
    if options.propose and (options.gated or options.public_when_done):
        raise UsageError(
            "--pr proposes files, and no settings of the repository",
            hint="leave --gated and --public-when-done out",
        )
    endpoint, spec = hub_endpoint(spec)
    return HubTarget(endpoint, spec, name, repo, options)


def hub_endpoint(spec: str) -> tuple[str, str]:
    """The endpoint of the hub that ``spec`` names, and what the log calls it."""
    from huggingface_hub import constants

    from zoo.remote.address import HUB, parse_url

    stated = constants.ENDPOINT if spec == "hf" else spec
    what = "HF_ENDPOINT" if spec == "hf" else "the address of the hub"
    endpoint = str(parse_url(stated, what)).rstrip("/")
    return endpoint, "hf" if endpoint == HUB else endpoint


def folder_target(zoo: Zoo, spec: str, name: str, typed: bool) -> DirectoryTarget:
    """Paths typed by hand start here. Those of the settings start at the zoo, and no part of them that lies
    in it may be a link: it would lead to where only the author of a pull request wants to write."""
    from zoo.release.paths import first_link
    from zoo.release.targets.directory import DirectoryTarget

    kind, _, path = spec.partition(":")
    if not typed and (kind != "dir" or not path):
        settings = zoo.shown(zoo.settings_file)
        hint = "write hf, or dir:PATH" if ":" in spec else f'write "dir:{printable(spec, keep="")}", or "hf"'
        raise SettingsError(f"{settings}: publish_to is {quoted(spec)}", hint=hint)
    if spec == "dir:":
        raise UsageError("dir: needs a path", hint="use --to dir:PATH")
    if kind != "dir" or not path:
        raise UsageError(f"cannot publish to {quoted(spec)}", hint=_HINT)
    place = (Path.cwd() if typed else zoo.root) / Path(path).expanduser()
    if not typed and (link := first_link(place, zoo.root)) is not None:
        settings = zoo.shown(zoo.settings_file)
        raise SettingsError(
            f"publish_to {quoted(spec)} of {settings}: {quoted(zoo.shown(link))} is a link",
            hint="put a folder there, or name the place that it leads to: --to dir:PATH",
        )
    root = place.resolve()
    return DirectoryTarget(root, name, f"dir:{zoo.shown(root)}")
