"""What this machine has for zoo: the packages, what the extras add, git, settings, token, hosts, disk, GPUs.

Functions that look and say; nothing is installed, written or mended. Only what was asked for with ``online``
opens a connection, and no token is ever part of a result.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from zoo import __version__
from zoo.checkpoint.cache import cache_folder
from zoo.errors import NotAZooError, UnreadableError, ZooError
from zoo.recipe.load import load_recipe, recipe_names
from zoo.recipe.model import Recipe
from zoo.remote.address import parse_url
from zoo.workspace import Zoo, find_zoo

_DISTRIBUTION = "draft-zoo"
# Extras for those who work on zoo itself, and other names for one that is listed.
_NOT_FOR_USERS = ("dev", "torch")
_GIB = 1024**3
_TIGHT = _GIB  # a release stages its own copy, often of several GB; below this even small files fail


class State(StrEnum):
    """How something is. Absent: not there, and nothing here needs it. Warning: something that this zoo asks
    for cannot be done here. Broken: this zoo cannot be used as it should."""

    OK = "ok"
    ABSENT = "absent"
    WARNING = "warning"
    BROKEN = "broken"
    NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was looked at: ``part`` is the group, ``detail`` what was found, ``hint`` what to do."""

    part: str
    name: str
    state: State
    detail: str
    hint: str = ""

    def as_json(self) -> dict[str, str]:
        return {each: str(getattr(self, each)) for each in self.__slots__}


@dataclass(frozen=True, slots=True)
class Checkup:
    """All that was looked at. Exit status 1: something is broken."""

    items: tuple[Item, ...]

    @property
    def exit_status(self) -> int:
        return int(any(item.state is State.BROKEN for item in self.items))

    def as_json(self) -> dict[str, Any]:
        """The result as ``zoo-doctor/1`` (``zoo/schemas/zoo-doctor-1.json``)."""
        return {
            "schema": "zoo-doctor/1",
            "items": [item.as_json() for item in self.items],
            "exit": self.exit_status,
        }


def check(folder: Path, *, online: bool, endpoint: str = "", timeout: float = 10.0) -> Checkup:
    """Look at everything. ``folder`` is in the zoo, if there is one; ``endpoint`` the hub, "" for HF_ENDPOINT
    or huggingface.co; ``timeout`` in seconds, for each host."""
    zoo, found = _zoo(folder)
    recipes = [] if zoo is None else [load_recipe(zoo, name).recipe for name in recipe_names(zoo)]
    usable = [recipe for recipe in recipes if recipe is not None]
    items = [
        *(_packages(zoo, usable) if _is_installed() else _not_installed()),
        _git(),
        *found,
        *_recipes(zoo, recipes),
        *_hub(zoo, endpoint, timeout, online),
        *_disk(),
        _gpus(),
    ]
    return Checkup(tuple(items))


def _is_installed() -> bool:
    try:
        metadata.distribution(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return False
    return True


def _not_installed() -> Iterator[Item]:
    detail = f"{__version__}, run from a folder without being installed: what it needs is not known"
    yield Item("base", "zoo", State.WARNING, detail, "install it: pip install .")


def _packages(zoo: Zoo | None, recipes: list[Recipe]) -> Iterator[Item]:
    yield from _base()
    yield from _extras(_needed_by(zoo, recipes))


def _base() -> Iterator[Item]:
    wanted = SpecifierSet(metadata.metadata(_DISTRIBUTION)["Requires-Python"])
    running = ".".join(map(str, sys.version_info[:3]))
    fits = wanted.contains(running)
    hint = "" if fits else f"run zoo with a Python {wanted}"
    yield Item("base", "python", State.OK if fits else State.BROKEN, running, hint)
    yield Item("base", "zoo", State.OK, __version__)
    for requirement in _requirements(""):
        problem, version = _installed(requirement)
        hint = f"pip install '{requirement}'" if problem else ""
        yield Item("base", requirement.name, State.BROKEN if problem else State.OK, problem or version, hint)


def _extras(needed_by: Mapping[str, tuple[State, str]]) -> Iterator[Item]:
    """Each extra: whole, missing and not needed, or missing and needed, with the command that installs it."""
    for extra in metadata.metadata(_DISTRIBUTION).get_all("Provides-Extra") or ():
        if extra in _NOT_FOR_USERS:
            continue
        found = {each.name: _installed(each) for each in _requirements(extra)}
        missing = [f"{name} {problem}" for name, (problem, _) in found.items() if problem]
        if not missing:
            detail = ", ".join(f"{name} {version}" for name, (_, version) in found.items())
            yield Item("extras", extra, State.OK, detail)
            continue
        state, why = needed_by.get(extra, (State.ABSENT, ""))
        detail = ", ".join(missing) + (f"; {why}" if why else "")
        yield Item("extras", extra, state, detail, f"pip install '{_DISTRIBUTION}[{extra}]'")


def _needed_by(zoo: Zoo | None, recipes: Iterable[Recipe]) -> dict[str, tuple[State, str]]:
    """The extras that this zoo asks for: what their absence means, and why they are needed. Gates are
    answered by evidence that another machine may have recorded; signatures are checked everywhere."""
    needed: dict[str, tuple[State, str]] = {}
    for extra, gate in (("replay", "replay"), ("serve", "smoke")):
        names = [recipe.name for recipe in recipes if gate in recipe.gates]
        if names:
            needed[extra] = State.WARNING, f"needed to run the {gate} gate of {_listed(names)}"
    if zoo is not None and zoo.signers:
        needed["sign"] = State.BROKEN, "needed to check the signers of the settings"
    return needed


def _requirements(extra: str) -> list[Requirement]:
    """What the installed distribution requires: always or, with a name, for this extra."""
    found = [Requirement(text) for text in metadata.requires(_DISTRIBUTION) or ()]
    for_extra = [each for each in found if each.marker is not None and each.marker.evaluate({"extra": extra})]
    always = [each for each in found if each.marker is None or each.marker.evaluate({"extra": ""})]
    chosen = [each for each in for_extra if each not in always] if extra else always
    for each in chosen:
        each.marker = None
    return [each for each in chosen if each.name != _DISTRIBUTION]


def _installed(requirement: Requirement) -> tuple[str, str]:
    """What is wrong with a package, or "", and its version."""
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return "is not installed", ""
    if not requirement.specifier.contains(version, prereleases=True):
        return f"is {version}, and zoo needs {requirement.specifier}", version
    return "", version


def _git() -> Item:
    program = shutil.which("git")
    if program is None:
        hint = "install git: a zoo is a git repository, and zoo ci reads its history"
        return Item("git", "git", State.WARNING, "not found", hint)
    try:
        ran = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Item("git", "git", State.WARNING, f"does not run: {error}", "run: git --version")
    return Item("git", "git", State.OK, ran.stdout.strip().removeprefix("git version "))


def _zoo(folder: Path) -> tuple[Zoo | None, list[Item]]:
    """The zoo and what its settings say; what is wrong with them is an item too."""
    try:
        zoo = find_zoo(folder)
    except NotAZooError as error:
        return None, [Item("zoo", "zoo", State.ABSENT, error.message, "make one: zoo init FOLDER")]
    except ZooError as error:
        return None, [Item("zoo", "settings", State.BROKEN, error.message, error.hint)]
    said = {
        "publish_to": zoo.publish_to,
        "endpoints": ", ".join(zoo.endpoints),
        "signers": ", ".join(signer.name for signer in zoo.signers),
        "severity": ", ".join(f"{code} is {value}" for code, value in zoo.severity.items()),
    }
    stated = "; ".join(f"{key}: {value}" for key, value in said.items() if value)
    detail = f"{zoo.settings_file}: {stated or 'nothing but defaults'}"
    return zoo, [Item("zoo", "settings", State.OK, detail)]


def _recipes(zoo: Zoo | None, recipes: list[Recipe | None]) -> Iterator[Item]:
    if zoo is None:
        return
    broken = [name for name, recipe in zip(recipe_names(zoo), recipes, strict=True) if recipe is None]
    if broken:
        detail = f"{len(recipes)}, of which {_listed(broken)} cannot be used"
        yield Item("zoo", "recipes", State.WARNING, detail, f"zoo verify {broken[0]}")
    else:
        yield Item("zoo", "recipes", State.OK, str(len(recipes)))


def _hub(zoo: Zoo | None, endpoint: str, timeout: float, online: bool) -> Iterator[Item]:
    """The token, and the hosts that this zoo may contact. Whose token it is, and whether hosts answer, is
    asked online only."""
    from huggingface_hub import constants

    hub = endpoint or constants.ENDPOINT
    hosts = [
        _host(host, timeout, online)
        for host in dict.fromkeys((hub, *(zoo.endpoints if zoo is not None else ())))
    ]
    where = _token_place()
    if not where:
        needed = zoo is not None and zoo.publish_to == "hf"
        state = State.WARNING if needed else State.ABSENT
        detail = "none found" + ("; publish_to is hf" if needed else "")
        yield Item("hub", "token", state, detail, "log in: hf auth login; or set HF_TOKEN")
    elif not online:
        yield Item("hub", "token", State.OK, f"found {where}; whose it is, says --online")
    elif hosts[0].state is not State.OK:
        yield Item("hub", "token", State.NOT_ASKED, f"found {where}; its hub cannot be asked whose it is")
    else:
        yield _token_user(hub, timeout, where)
    yield from hosts


def _token_place() -> str:
    """Where a token lies, or "": the places in which huggingface_hub looks. The token itself is not read."""
    from huggingface_hub import constants

    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if os.environ.get(name, "").strip():
            return f"in {name}"
    try:
        saved = Path(constants.HF_TOKEN_PATH).stat().st_size > 0
    except OSError:
        return ""
    return "where hf auth login saves it" if saved else ""


def _token_user(hub: str, timeout: float, where: str) -> Item:
    from zoo.release.targets.hub_client import HubClient

    try:
        address = str(parse_url(hub, _endpoint(hub))).rstrip("/")
        client = HubClient(address, "", timeout, lambda _: None)
        client.check_token()
        user = str(client.ask("the user of the token", client.api.whoami)["name"])
    except (ZooError, KeyError, TypeError) as error:
        said = (error.message, error.hint) if isinstance(error, ZooError) else ("it named no user", "")
        return Item("hub", "token", State.BROKEN, f"found {where}; {said[0]}", said[1])
    return Item("hub", "token", State.OK, f"found {where}; it is the token of {user} at {address}")


def _endpoint(url: str) -> str:
    """What a person would mend where ``url`` is wrong."""
    from huggingface_hub import constants

    return "HF_ENDPOINT" if url == constants.ENDPOINT else "the endpoint"


def _host(host: str, timeout: float, online: bool) -> Item:
    """Whether ``host`` answers at all, whatever it says. No token is sent."""
    from huggingface_hub import constants

    if not online:
        return Item("hub", host, State.NOT_ASKED, "contacted with --online only")
    if constants.is_offline_mode():
        return Item("hub", host, State.NOT_ASKED, "HF_HUB_OFFLINE is set", "unset it: HF_HUB_OFFLINE")
    from zoo.remote.client import httpx, new_client

    try:
        url = parse_url(host, _endpoint(host))
        with new_client() as client, client.stream("GET", url, timeout=timeout) as answer:
            return Item("hub", host, State.OK, f"answers (HTTP {answer.status_code})")
    except UnreadableError as error:
        return Item("hub", host, State.BROKEN, error.message, error.hint)
    except httpx.HTTPError as error:
        hint = "check the address, the network and the proxy (HTTPS_PROXY)"
        return Item("hub", host, State.BROKEN, f"does not answer: {type(error).__name__}", hint)


def _disk() -> Iterator[Item]:
    """The folders that zoo writes to by itself: what a pass over every byte found, and temporary files."""
    for name, folder in (("cache", cache_folder()), ("temporary files", Path(tempfile.gettempdir()))):
        if folder is None:
            yield Item("disk", name, State.WARNING, "this user has no home folder", "set XDG_CACHE_HOME")
            continue
        there = next((each for each in (folder, *folder.parents) if each.is_dir()), Path("/"))
        free = shutil.disk_usage(there).free
        detail = f"{folder}, {free / _GIB:.1f} GiB free"
        if not os.access(there, os.W_OK):
            yield Item("disk", name, State.WARNING, f"{folder} cannot be written to", "check its permissions")
        elif free < _TIGHT:
            yield Item("disk", name, State.WARNING, detail, "free some space")
        else:
            yield Item("disk", name, State.OK, detail)


def _gpus() -> Item:
    """The GPUs, if the extra serve is there to look at them."""
    from zoo.smoke.gpus import GpusUnknownError, read_gpus

    try:
        found = read_gpus()
    except GpusUnknownError as error:
        return Item("gpus", "gpus", State.ABSENT, error.message, error.hint)
    names = [
        f"{gpu.index}: {gpu.name}, {gpu.free / _GIB:.0f} of {gpu.total / _GIB:.0f} GiB free"
        for gpu in found.gpus
    ]
    return Item("gpus", "gpus", State.OK if names else State.ABSENT, "; ".join(names) or "none are visible")


def _listed(names: list[str]) -> str:
    """The first of many names."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
