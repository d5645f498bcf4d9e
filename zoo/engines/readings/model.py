"""What a reading is: what one version of one engine makes of a draft's tensors and of its config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

# Tensor name -> dtype as a safetensors header spells it, shape.
Tensors = Mapping[str, tuple[str, tuple[int, ...]]]
RefusalKind = Literal["model type", "architecture", "config", "tensor"]


class Fate(StrEnum):
    """What becomes of a tensor of the file."""

    READ = "read"
    BORROWED = "borrowed"  # the target's is used instead of it
    SKIPPED = "skipped"  # dropped on purpose, and nothing is lost: serving does not need it
    IGNORED = "ignored"
    REFUSED = "refused"


class Missing(StrEnum):
    """What a parameter holds that no tensor of the file fills."""

    RANDOM = "random"
    BORROWED = "borrowed"  # the target's
    UNUSED = "unused"  # anything: the engine builds it and never computes with it
    DEFAULT = "default"  # what it was built with: zeros, ones, or every draft id taken as a target id


class Refusal(NamedTuple):
    """Why the engine does not start. ``source`` is where its code says so; ``tensor`` the one it stops at,
    ``key`` the config key, where it is one."""

    kind: RefusalKind
    reason: str
    source: str
    tensor: str | None = None
    key: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "reason": self.reason, "source": self.source, "tensor": self.tensor}


class LayerIds(NamedTuple):
    """The target layers whose outputs the engine taps: ``after[i]`` is the layer after which (counted from 0;
    -1 is the embedding). ``guessed``: the engine makes them up. ``after`` is None where they depend on a
    target that is not known."""

    after: tuple[int, ...] | None
    guessed: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"after": None if self.after is None else list(self.after), "guessed": self.guessed}


@dataclass(frozen=True)
class EngineReading:
    """One engine version's reading of one draft.

    ``loads_as`` is the class in the engine (None: none, or one that was not read, see ``covered``).
    ``missing`` names parameters as a file of the engine's own layout would. ``faults`` are what it serves
    wrongly although every tensor is there, as words that follow the engine's name. ``block_size`` is the
    number of tokens of a block that the config decides (DSpark: the tokens proposed); None where only the
    command does.
    ``ignored_keys`` are keys of the draft's own config blocks that this version never looks at.
    """

    engine: str
    version: str
    algorithm: str | None = None
    loads_as: str | None = None
    covered: bool = True
    refusals: tuple[Refusal, ...] = ()
    fates: Mapping[str, Fate] = field(default_factory=dict)
    missing: Mapping[str, Missing] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    layer_ids: LayerIds | None = None
    block_size: int | None = None
    ignored_keys: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``sglang==0.5.14``, as a profile pins it."""
        return f"{self.engine}=={self.version}"

    def tensors(self, fate: Fate) -> list[str]:
        return [name for name, found in self.fates.items() if found is fate]

    def as_json(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "version": self.version,
            "algorithm": self.algorithm,
            "loads_as": self.loads_as,
            "covered": self.covered,
            "refusals": [refusal.as_json() for refusal in self.refusals],
            "tensors": {name: str(fate) for name, fate in self.fates.items()},
            "missing": {name: str(held) for name, held in self.missing.items()},
            "faults": list(self.faults),
            "layer_ids": None if self.layer_ids is None else self.layer_ids.as_json(),
            "block_size": self.block_size,
            "ignored_keys": list(self.ignored_keys),
            "notes": list(self.notes),
        }


class EngineProfile(NamedTuple):
    """What one engine version knows of drafts, as data. ``architectures`` maps each name in config.json that
    was read to (algorithm, class); ``layer_ids`` says, per algorithm, what the ids of a config mean."""

    engine: str
    version: str
    algorithms: tuple[str, ...]
    architectures: Mapping[str, tuple[str, str]]
    layer_ids: Mapping[str, str]
    config_keys: Mapping[str, tuple[str, ...]]
    source: str


def ignored_keys(config: Mapping[str, Any], profile: EngineProfile) -> tuple[str, ...]:
    """The keys in the draft's own config blocks that this engine version never looks at."""
    return tuple(
        f"{block}.{key}"
        for block in ("dflash_config", "dspark_config", "eagle_config")
        if isinstance(config.get(block), Mapping)
        for key in config[block]
        if key not in profile.config_keys.get(block, ())
    )
