"""Everything that a server was asked and what it said: the frozen material that the probes judge.

A run fills it phase by phase with ``dataclasses.replace``. What was not asked is :class:`Absent`, with the
reason that the probe then gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from zoo.recipe.model import Profile, Recipe
from zoo.smoke.client import Answer, Reply
from zoo.smoke.settings import REFERENCE, SmokeSettings

if TYPE_CHECKING:
    from zoo.smoke.expectations import Tried
    from zoo.smoke.lossless import Losslessness
    from zoo.smoke.replayed import NotReplayed, Replayed


@dataclass(frozen=True, slots=True)
class Absent:
    """Why there is nothing to judge, in one line."""

    reason: str


NOT_ASKED = Absent("it was not asked in this run")


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that should have been served was answered with an error: the status of HTTP, and the
    words."""

    status: int
    said: str


@dataclass(frozen=True, slots=True)
class Wave:
    """Requests that ran ``concurrency`` at a time, after a shorter warm-up of the same batch size. ``asked``:
    the tokens that each was to give; ``answers``: in the order of the prompts; ``seconds``: from the first
    request to the last answer."""

    concurrency: int
    asked: int
    answers: tuple[Answer | Refused, ...]
    seconds: float

    @property
    def served(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if isinstance(answer, Answer))

    @property
    def tokens_per_second(self) -> float:
        """Of all requests together, prefill included: what was measured at the client, no benchmark."""
        return sum(len(answer.output_ids) for answer in self.served) / self.seconds


@dataclass(frozen=True, slots=True)
class Served:
    """One server and its answers.

    ``engine``: ``sglang``, ``vllm`` or ``reference``; ``version``: what runs, by its own word. ``draft``: the
    path that the server was given, "" where nobody here gave it (attach). ``info``: /server_info. ``log``:
    the server's log so far. ``greedy`` and ``sampled``: the answers to ``prompts`` (token ids) at temperature
    0 and 1, one after the other. ``gpus_free``: bytes free on each GPU after the waves.
    """

    recipe: Recipe
    profile: Profile
    settings: SmokeSettings
    engine: str
    version: Version
    draft: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    log: str | Absent = NOT_ASKED
    prompts: tuple[tuple[int, ...], ...] = ()
    greedy: tuple[Answer, ...] | Absent = NOT_ASKED
    sampled: tuple[Answer, ...] | Absent = NOT_ASKED
    kinds: tuple[Tried, ...] | Absent = NOT_ASKED
    chat: Reply | Absent = NOT_ASKED
    waves: tuple[Wave, ...] | Absent = NOT_ASKED
    long: Answer | Refused | Absent = NOT_ASKED
    gpus_free: tuple[int, ...] | Absent = NOT_ASKED
    replayed: Replayed | NotReplayed | Absent = NOT_ASKED
    lossless: Losslessness | Absent = NOT_ASKED

    @property
    def is_reference(self) -> bool:
        """Whether zoo's own engine served (tier cpu)."""
        return self.engine == REFERENCE

    @property
    def exact(self) -> bool:
        """Whether texts with and without a draft must be equal: the reference engine in float32."""
        return self.is_reference and self.info.get("dtype") == "float32"
