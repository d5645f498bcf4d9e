"""What a smoke test is about (:class:`Plan`, frozen) and what its phases have found out so far
(:class:`Smoke`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.recipe.model import ModelRef, Profile, Recipe
from zoo.smoke.prompts import Prompts
from zoo.smoke.settings import SmokeSettings

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.evidence import Engine, Result
    from zoo.smoke.client import Client
    from zoo.smoke.gpus import Gpus
    from zoo.smoke.lossless import Calibration
    from zoo.smoke.served import Served
    from zoo.smoke.server import Server

# What a phase does at the moment, in a few words.
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What the person asked for, all of it resolved before anything starts.

    ``target`` is what the engine is given, ``target_folder`` the same where it is a folder of this machine.
    ``work`` is the folder for the log, the copy of the draft and all else that the run writes. ``control``
    names what is broken in the copy, "" for nothing.
    """

    recipe: Recipe
    profile: Profile
    settings: SmokeSettings
    checkpoint: Checkpoint
    digest: str
    target: ModelRef
    target_folder: Path | None
    prompts: Prompts
    work: Path
    calibration: Path
    python: str | None = None
    host: str = "127.0.0.1"
    port: int | None = None
    extra: tuple[str, ...] = ()
    share_gpus: bool = False
    control: str = ""


@dataclass
class Smoke:
    """The state of one run. A phase sets its fields once, and later phases read them; their order is
    ``zoo.smoke.run``. ``stack`` ends the server, whatever happens."""

    plan: Plan
    told: Told
    started: str
    stack: ExitStack
    results: list[Result] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    # preflight: the GPUs of the tier before the start, None where there are none or nobody could look
    gpus: Gpus | None = None
    # copy
    draft: Path = field(init=False)
    # start
    server: Server = field(init=False)
    client: Client = field(init=False)
    engine: Engine = field(init=False)
    # greedy, sampled, requests, ...: what was asked, and what came back
    served: Served = field(init=False)
    # target: measured in this run, None where an earlier one was used again
    calibration: Calibration | None = None
