"""An affected recipe beside the one of the base: config, tensors, files, and all that the recipe says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from zoo.checkpoint.model import Checkpoint
from zoo.ci.base import BaseZoo
from zoo.ci.files import known_digests
from zoo.ci.model import ChangedFile
from zoo.ci.sources import WithinZoo, folder_in
from zoo.diff.compare import compare
from zoo.diff.model import Diff, FileFact, Side
from zoo.diff.sides import facts_of, recipe_side
from zoo.errors import UnreadableError
from zoo.recipe.model import UNKNOWN, Recipe
from zoo.remote.address import is_remote
from zoo.sources import Sources
from zoo.workspace import Zoo

_OUT_OF_REACH = "its files are out of reach"


def against_base(
    zoo: Zoo,
    base: BaseZoo,
    changed: Iterable[ChangedFile],
    sources: WithinZoo,
    recipes: tuple[Recipe, Recipe],
    checkpoint: Checkpoint | None,
) -> Diff:
    """Compare the two ``recipes``, of the base and of the change, at header level; ``checkpoint`` is that of
    the change."""
    before, after = recipes
    old, why = _checkpoint_before(zoo, base, changed, sources, recipes, checkpoint)
    name = f"{after.name} at the base"
    if old is None or checkpoint is None:
        # What a recipe implies of files that nobody read is no difference to files that were read.
        a = Side(name, "recipe", facts=facts_of(before), missing={} if old else {"files": why})
        b = Side(
            after.name,
            "recipe",
            facts=facts_of(after),
            missing={} if checkpoint else {"files": _OUT_OF_REACH},
        )
        return compare(a, b)
    a, b = recipe_side(before, old, name=name), recipe_side(after, checkpoint)
    diff = compare(with_known(a, before), with_known(b, after))
    # The files are closed before the diff is shown.
    return replace(diff, a=replace(diff.a, checkpoint=None), b=replace(diff.b, checkpoint=None))


def touches_files(zoo: Zoo, recipe: Recipe, changed: Iterable[ChangedFile]) -> bool:
    """Whether the change has files of the recipe's checkpoint, which then lies in the zoo."""
    source = recipe.checkpoint.source
    if is_remote(source) or source == UNKNOWN:
        return False
    folder = folder_in(zoo, source)
    return folder is not None and any(file.path.startswith(f"{folder}/") for file in changed)


def with_known(side: Side, recipe: Recipe) -> Side:
    """A side with the digests of all its files that are known without reading weights."""
    if side.checkpoint is None or side.files is None:
        return side
    known = known_digests(side.checkpoint, recipe.checkpoint.files)
    facts = {
        path: FileFact(file.size, file.sha256, "read")
        for path, file in known.items()
        if side.files[path].sha256 is None
    }
    return replace(side, files={**side.files, **facts})


def _checkpoint_before(
    zoo: Zoo,
    base: BaseZoo,
    changed: Iterable[ChangedFile],
    sources: WithinZoo,
    recipes: tuple[Recipe, Recipe],
    checkpoint: Checkpoint | None,
) -> tuple[Checkpoint | None, str]:
    """The checkpoint of the recipe at the base, and why there is none."""
    before, after = recipes
    source = before.checkpoint.source
    if source == UNKNOWN:
        return None, "the source at the base is unknown"
    try:
        if touches_files(zoo, before, changed):
            old = base.folder(folder_in(zoo, source) or "")
            if old is None:
                return None, "the files at the base are not in git"
            return replace(Sources().open(str(old)), source=source), ""
        if source == after.checkpoint.source:
            return checkpoint, _OUT_OF_REACH
        return sources.open(source, zoo=zoo), ""
    except UnreadableError as error:
        return None, error.message
