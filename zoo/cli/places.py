"""``--to`` of verbs about a published version: the places that it was published to, which the log names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from zoo.cli.target import folder_target, hub_endpoint
from zoo.errors import UsageError
from zoo.printable import printable, quoted

if TYPE_CHECKING:
    from zoo.release.afterwards import HubPlace, Place
    from zoo.release.record import Entry
    from zoo.workspace import Zoo


def places(
    zoo: Zoo, name: str, entries: list[Entry], to: str | None, limit: float, note: Callable[[str], None]
) -> list[Place]:
    """All places of ``entries``, or the one that ``to`` names. The log can come from a pull request: a server
    other than the Hub, or a folder outside of the zoo, is changed only if somebody types it (or if it is the
    ``publish_to`` of the settings, for a folder).

    Raises UsageError.
    """
    if to is None:
        return [_place(zoo, name, entry, "", limit, note) for entry in entries]
    spec = spec_of(zoo, name, to)
    chosen = [entry for entry in entries if entry.target == spec]
    if not chosen:
        known = " or ".join(f"--to {printable(entry.target, keep='')}" for entry in entries)
        raise UsageError(
            f"{name} {entries[0].version} was not published at {quoted(spec)}", hint=f"it was at: {known}"
        )
    return [_place(zoo, name, chosen[0], to, limit, note)]


def spec_of(zoo: Zoo, name: str, to: str) -> str:
    """What the log says for the place that ``to`` names."""
    if is_hub(to):
        return hub_endpoint(to)[1]
    return folder_target(zoo, to, name, typed=True).spec


def is_hub(spec: str) -> bool:
    return spec == "hf" or spec.startswith(("https://", "http://"))


def hub_place(
    zoo: Zoo, name: str, entry: Entry, to: str, limit: float, note: Callable[[str], None]
) -> HubPlace:
    """The hub that ``entry`` names. ``to`` is what the user typed, or ""."""
    from zoo.release.afterwards import HubPlace, repo_of
    from zoo.remote.address import HUB

    if entry.target != "hf" and not to:
        raise UsageError(
            f"{name} {entry.version} was published at {quoted(entry.target)}",
            hint=f"if you trust that server with your token, add: --to {printable(entry.target, keep='')}",
        )
    # "hf" in the log is huggingface.co, whatever HF_ENDPOINT says today.
    endpoint = HUB if entry.target == "hf" else hub_endpoint(entry.target)[0]
    repo = repo_of(zoo, name, entry)
    return HubPlace(entry, endpoint, name, repo, limit, note)


def _place(zoo: Zoo, name: str, entry: Entry, to: str, limit: float, note: Callable[[str], None]) -> Place:
    from zoo.release.afterwards import FolderPlace

    if is_hub(entry.target):
        return hub_place(zoo, name, entry, to, limit, note)
    target = folder_target(zoo, to or entry.target, name, typed=bool(to))
    inside = target.root.is_relative_to(zoo.root.resolve())
    if not (to or inside or entry.target == zoo.publish_to):
        raise UsageError(
            f"{name} {entry.version} was published at {quoted(entry.target)}, outside of this zoo",
            hint=f"if that is the place, add: --to {printable(entry.target, keep='')}",
        )
    return FolderPlace(entry, target)
