"""Which config and tensors a reading is about: the file's, or those that a recipe implies; and whose findings
they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from zoo.drafts.family import NotInventoriedError
from zoo.engines.readings import KNOWN, EngineReading, Tensors, reading_of
from zoo.recipe.config import config_of, inventory_of
from zoo.recipe.model import Profile, Recipe

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.checkpoint.target import TargetModel


class DraftView(NamedTuple):
    """A draft as an engine would meet it. ``implied``: by a recipe, no file was there. ``tensors`` is None
    where nobody can say which the draft has; ``target_type`` is the model_type of the target, where its files
    are at hand."""

    config: Mapping[str, Any]
    tensors: Tensors | None
    target_layers: int | None
    implied: bool
    target_type: str | None = None

    def read_by(self, engine: str, version: str) -> EngineReading:
        tensors = self.tensors if self.tensors is not None else {}
        return reading_of(
            engine,
            version,
            self.config,
            tensors,
            target_layers=self.target_layers,
            target_type=self.target_type,
        )


class Judged(NamedTuple):
    """A reading that findings are about; ``profile`` is the one that pins the engine, if a recipe does."""

    reading: EngineReading
    draft: DraftView
    profile: Profile | None = None


def implied_by(recipe: Recipe) -> DraftView:
    """The draft that a recipe describes: its config and inventory, without any file."""
    tensors: Tensors | None
    try:
        tensors = {name: (spec.dtype, spec.shape) for name, spec in inventory_of(recipe).items()}
    except (KeyError, TypeError, ZeroDivisionError, NotInventoriedError):
        tensors = None
    return DraftView(config_of(recipe), tensors, recipe.target.layers, implied=True)


def found_in(checkpoint: Checkpoint, recipe: Recipe | None) -> DraftView | None:
    """The draft in a folder, or None where its config or headers cannot be read."""
    whole = bool(checkpoint.weights) and all(file.header is not None for file in checkpoint.weights)
    if checkpoint.config is None or not whole:
        return None
    tensors = {name: (tensor.dtype, tensor.shape) for name, tensor in checkpoint.tensors.items()}
    depth = None if recipe is None else recipe.target.layers
    return DraftView(checkpoint.config, tensors, depth, implied=False)


def draft_of(
    recipe: Recipe | None, checkpoint: Checkpoint | None, target: TargetModel | None = None
) -> DraftView | None:
    """The draft of the file or, where there is no readable one, of the recipe; before ``target``, where its
    files are at hand."""
    found = None if checkpoint is None else found_in(checkpoint, recipe)
    if found is None and recipe is not None and checkpoint is None:
        found = implied_by(recipe)
    return found and before(found, target)


def before(draft: DraftView, target: TargetModel | None) -> DraftView:
    """The draft before a target that is known by its own files."""
    if target is None:
        return draft
    depth = target.layers if draft.target_layers is None else draft.target_layers
    return draft._replace(target_layers=depth, target_type=target.model_type or None)


def pinned(profile: Profile) -> tuple[str, str] | None:
    """The engine and version of a profile where somebody has read it (a local build label does not count)."""
    pair = (profile.engine, profile.version.public)
    return pair if pair in KNOWN else None


def judged(
    recipe: Recipe | None,
    checkpoint: Checkpoint | None,
    engines: tuple[tuple[str, str], ...],
    target: TargetModel | None = None,
) -> tuple[Judged, ...] | None:
    """The readings that rules judge: of a recipe, by the engines of its profiles; of a folder on its own, by
    the engines that the user named. None where there is nothing to judge.

    A recipe is judged by what it describes. Where a file differs from that, the I and C rules say so.
    """
    if recipe is not None:
        draft = before(implied_by(recipe), target)
        pairs = [(profile, pair) for profile in recipe.profiles if (pair := pinned(profile)) is not None]
        return tuple(Judged(draft.read_by(*pair), draft, profile) for profile, pair in pairs) or None
    found = None if checkpoint is None else found_in(checkpoint, None)
    if found is None:
        return None
    found = before(found, target)
    return tuple(Judged(found.read_by(*pair), found) for pair in engines) or None
