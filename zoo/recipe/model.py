"""A recipe, its target and its profiles as frozen values.

``Recipe.data`` is the resolved document (``extends`` merged) and ``where`` finds the line of any part of
it. The typed fields beside it are what the rest of the tool works with. A value that nobody knows is the
word ``"unknown"``: rules warn about it and the card repeats it; it is never replaced by a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from zoo.recipe.validate import Marks, at
from zoo.results import Where

Unknown = Literal["unknown"]
UNKNOWN: Unknown = "unknown"


@dataclass(frozen=True)
class ModelRef:
    """A model as an engine is given it: a repository id or folder, and the revision if it is pinned."""

    path: str
    revision: str | None = None


@dataclass(frozen=True)
class Target:
    """The big model. ``repo`` is where the draft belongs, ``served`` what is really served (often
    quantized)."""

    name: str
    file: str
    repo: ModelRef
    served: ModelRef
    quantization: str
    layers: int
    hidden_size: int
    vocab_size: int
    max_position_embeddings: int | None
    special_ids: Mapping[str, int]
    data: Mapping[str, Any]
    marks: Marks

    def where(self, pointer: str) -> Where:
        return at(self.marks, pointer)


@dataclass(frozen=True)
class Profile:
    """One engine pin on one kind of hardware. ``args`` keep their order; ``{target}`` and ``{draft}`` are
    places."""

    name: str
    file: str
    engine: str
    version: Version
    gpu: str
    gpus: int
    command: str
    args: tuple[str, ...]
    environment: Mapping[str, str]
    image: str
    data: Mapping[str, Any]
    marks: Marks

    def where(self, pointer: str) -> Where:
        return at(self.marks, pointer)


@dataclass(frozen=True)
class CheckpointSpec:
    """What the recipe says of the files: ``files`` maps name to kind, ``about`` to a line of description.
    ``optional`` are tensors in them that the family leaves open, e.g. the embedding of an EAGLE3 draft."""

    source: str
    family: str
    tensors: int
    optional: tuple[str, ...]
    dtype: str
    files: Mapping[str, str]
    about: Mapping[str, str]


@dataclass(frozen=True)
class Draft:
    """The architecture as a person decided it; ``config`` holds every other key of config.json.

    ``aux_ids`` are target layers in the order of the columns of fc, empty where nobody knows them (an EAGLE3
    draft may leave them to the engine); ``rope`` has ``type``, ``theta`` and the scaling keys. A family
    without a block size or a mask token has None there.
    """

    layers: int
    block_size: int | None
    aux_ids: tuple[int, ...]
    aux_convention: str
    mask_token_id: int | None
    mask_token: str | None
    rope: Mapping[str, Any]
    amplitude_as_trained: float | Unknown | None
    borrows: Mapping[str, str]
    assumed: tuple[str, ...]
    assumed_from: str
    config: Mapping[str, Any]


class Training(NamedTuple):
    run: str
    checkpoint: str
    step: int | Unknown
    manifest: str
    data: Mapping[str, Any]


class Base(NamedTuple):
    repo: str
    revision: str
    config: str
    inventory: str
    unchanged_tensors: tuple[str, ...]


@dataclass(frozen=True)
class Claim:
    """A number of the card: *measured* (``evidence`` names the record) or *reported* by the author."""

    metric: str
    value: float | tuple[float, float]
    at: Mapping[str, Any]
    against: str
    text: str
    source: str
    evidence: str


class Caveat(NamedTuple):
    """A sentence of the card, or the ``code`` of an engine hazard whose sentence it is; with the engine
    versions it holds for."""

    code: str
    text: str
    engine: str
    versions: SpecifierSet


class Waiver(NamedTuple):
    code: str
    reason: str
    until: date


@dataclass(frozen=True)
class Recipe:
    """One draft of the zoo. See docs/recipes.md for the meaning of every key."""

    name: str
    file: str
    version: str
    repo: str
    title: str
    target: Target
    profiles: tuple[Profile, ...]
    checkpoint: CheckpointSpec
    draft: Draft
    training: Training
    base: Base | None
    gates: Mapping[str, Any]
    claims: tuple[Claim, ...]
    caveats: tuple[Caveat, ...]
    waivers: tuple[Waiver, ...]
    data: Mapping[str, Any]
    marks: Marks

    def where(self, pointer: str) -> Where:
        """The place in the recipe (or in the recipe that it extends) of a JSON pointer."""
        return at(self.marks, pointer)
