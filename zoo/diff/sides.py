"""Reading what is known of one side of a diff: a recipe, a release, or a source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from zoo.checkpoint.cache import user_cache
from zoo.checkpoint.folder import CONFIG_NAME, is_weights
from zoo.checkpoint.model import Checkpoint
from zoo.diff.model import FileFact, Form, Side
from zoo.digests import sha256_file
from zoo.drafts.family import NotInventoriedError
from zoo.errors import UnreadableError
from zoo.pull.place import Release, bytes_of, find_release, recipe_digest, recipe_of, refuse_other
from zoo.recipe.config import config_of, inventory_of
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import UNKNOWN, Recipe
from zoo.sources import Sources
from zoo.workspace import Zoo

# A small file of a local folder is hashed at once; a tokenizer or a report takes longer than a header.
_SMALL, _MANY = 1024 * 1024, 100


def open_side(named: str, zoo: Callable[[], Zoo], sources: Sources, endpoint: str = "") -> Side:
    """What is known of ``named``: NAME, NAME@VERSION or anything with a slash, a source. ``zoo`` finds the
    zoo, if one is needed.

    Raises:
        UnreadableError: the source cannot be opened.
        ReleaseRefusedError: the release is not what was published.
        UsageError: there is no such release. NoSuchRecipeError, InvalidRecipeError: no usable recipe.
    """
    if "/" in named or named in (".", ".."):
        return with_checkpoint(Side(named, "source"), sources.open(named))
    if "@" in named:
        return _release(zoo(), find_release(zoo(), named), sources, endpoint)
    return _recipe(zoo(), usable_recipe(zoo(), named), sources)


def _recipe(zoo: Zoo, recipe: Recipe, sources: Sources) -> Side:
    """A recipe: its files or, where they are out of reach, what it says of them."""
    source = recipe.checkpoint.source
    try:
        if source == UNKNOWN:
            raise UnreadableError("the recipe's source is unknown", hint="")
        return recipe_side(recipe, sources.open(source, zoo=zoo))
    except UnreadableError as error:
        return recipe_side(recipe, None, f"{error.message}; give the folder instead of the name")


def recipe_side(recipe: Recipe, checkpoint: Checkpoint | None, why: str = "", name: str = "") -> Side:
    """A recipe with its ``checkpoint`` or, without one, with what it says of it; ``why`` there is none."""
    side = Side(name or recipe.name, "recipe", facts=facts_of(recipe))
    if checkpoint is not None:
        return with_checkpoint(side, checkpoint)
    missing = {"files": why}
    try:
        tensors = {
            name: Form(spec.dtype, spec.shape, spec.nbytes) for name, spec in inventory_of(recipe).items()
        }
    except (KeyError, TypeError, ZeroDivisionError, NotInventoriedError):
        tensors, missing["inventory"] = None, "the tensors that the recipe describes are not known"
    return replace(side, config=config_of(recipe), tensors=tensors, missing=missing, implied=True)


def _release(zoo: Zoo, release: Release, sources: Sources, endpoint: str) -> Side:
    """A release: what its manifest says, and its files where they are."""
    side = Side(release.label, "release", facts=_facts_of_release(zoo, release))
    stated = {
        path: FileFact(file.size, file.sha256, "manifest") for path, file in release.manifest.files.items()
    }
    try:
        checkpoint = sources.open(bytes_of(release, endpoint))
    except UnreadableError as error:
        missing = dict.fromkeys(("config", "inventory"), f"{error.message} -> {error.hint}")
        return replace(side, files=stated, missing=missing)
    refuse_other(release, checkpoint, checkpoint.reported_sha256)
    # What is not in the manifest is no part of the release: the manifest itself, files of the hub.
    return replace(with_checkpoint(side, checkpoint), files=stated)


def facts_of(recipe: Recipe) -> dict[str, Mapping[str, Any]]:
    """What a recipe states, in all depths that a diff compares."""
    whole = {
        **recipe.data,
        "target": recipe.target.data,
        "serve": {profile.name: profile.data for profile in recipe.profiles},
    }
    repo = recipe.target.repo
    manifest = {
        "name": recipe.name,
        "version": recipe.version,
        "repo": recipe.repo,
        "target": {"name": recipe.target.name, "repo": repo.path, "revision": repo.revision},
        "recipe_digest": recipe_digest(recipe),
    }
    return {"resolved": whole, "recipe": recipe.data, "manifest": manifest}


def _facts_of_release(zoo: Zoo, release: Release) -> dict[str, Mapping[str, Any]]:
    """What the manifest states and, if the recipe is still the one that was released, all of it."""
    document = release.manifest.document
    keys = ("name", "version", "repo", "target", "recipe_digest")
    facts: dict[str, Mapping[str, Any]] = {"manifest": {key: document[key] for key in keys}}
    recipe = recipe_of(zoo, release)
    return facts if recipe is None else facts | {"recipe": recipe.data}


def with_checkpoint(side: Side, checkpoint: Checkpoint) -> Side:
    """``side`` with everything that the checkpoint shows without reading weights."""
    missing: dict[str, str] = {}
    understood = bool(checkpoint.weights) and all(file.header is not None for file in checkpoint.weights)
    hint = "; see: zoo verify"
    if checkpoint.config is None:
        there = CONFIG_NAME in checkpoint.files
        missing["config"] = f"{CONFIG_NAME} {'cannot be read' if there else 'is not there'}{hint}"
    if not understood:
        missing["inventory"] = f"a weights file could not be understood, or there is none{hint}"
    tensors = {name: Form(each.dtype, each.shape, each.nbytes) for name, each in checkpoint.tensors.items()}
    return replace(
        side,
        revision=checkpoint.revision,
        config=checkpoint.config,
        tensors=tensors if understood else None,
        metadata=checkpoint.metadata,
        files=_files(checkpoint),
        missing=missing,
        listed=checkpoint.listed,
        checkpoint=checkpoint,
    )


def _files(checkpoint: Checkpoint) -> dict[str, FileFact]:
    """Every file, with the digests that cost nothing: those that a hub states or an earlier pass found, and
    those of small local files."""
    found: dict[str, FileFact] = {}
    for path, size in checkpoint.files.items():
        stated = checkpoint.reported_sha256.get(path)
        if stated is not None:
            found[path] = FileFact(size, stated, "hub")
        elif checkpoint.opener is None:
            found[path] = _local(checkpoint, path, size, len(found))
        elif path == CONFIG_NAME and checkpoint.config is not None:
            found[path] = FileFact(size, sha256_file(checkpoint.root / path), "read")
        else:
            found[path] = FileFact(size)
    return found


def _local(checkpoint: Checkpoint, path: str, size: int, before: int) -> FileFact:
    file = checkpoint.root / path
    try:
        if is_weights(path):
            known = user_cache().find(path, file.stat(), stats=False)
            return FileFact(size) if known is None else FileFact(size, known[0].sha256, "cache")
        if size <= _SMALL and before < _MANY:
            return FileFact(size, sha256_file(file), "read")
    except OSError:  # it went away, or may not be read: its size is all that is known
        pass
    return FileFact(size)
