"""Which layers of a target to record: ids, those of a recipe, or those of every recipe for this target."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zoo.errors import UsageError
from zoo.printable import quoted
from zoo.recipe.load import load_recipe, recipe_names, usable_recipe
from zoo.recipe.model import Recipe, Target
from zoo.workspace import Zoo

_IDS = re.compile(r"-?\d{1,5}(,-?\d{1,5})*")


def wanted_layers(zoo: Zoo, target: Target, stated: str) -> tuple[int, ...]:
    """Layer ids, after-layer, from ``stated``: "1,14,26", the name of a recipe, or "" for the recipes of this
    target. Those of one recipe come in the order of its draft's fusion layer.

    Raises:
        UsageError: there are none, an id is no layer of the target, or a recipe does not state its layers.
    """
    if _IDS.fullmatch(stated):
        layers = tuple(int(each) for each in stated.split(","))
    elif stated:
        recipe = usable_recipe(zoo, stated)
        if recipe.target.name != target.name:
            raise UsageError(
                f"recipe {quoted(stated)} is for the target {recipe.target.name}, not {target.name}",
                hint=f"zoo trace {recipe.target.name} ..., or --layers with ids",
            )
        layers = after_layer(recipe)
        if not layers:
            raise UsageError(
                f"{recipe.file} does not state its aux layers and their convention", hint="--layers with ids"
            )
    else:
        recipes = [load_recipe(zoo, name).recipe for name in recipe_names(zoo)]
        own = [each for each in recipes if each is not None and each.target.name == target.name]
        layers = tuple(sorted({layer for each in own for layer in after_layer(each)}))
        if not layers:
            raise UsageError(
                f"no recipe of this zoo states aux layers for the target {target.name}",
                hint="say which layers: --layers 1,14,26",
            )
    wrong = [layer for layer in layers if not -1 <= layer < target.layers]
    if wrong or len(set(layers)) != len(layers):
        raise UsageError(
            f"--layers {','.join(map(str, wrong or layers))}: the target has layers 0 to {target.layers - 1}",
            hint="name each once; -1 is the output of the embedding",
        )
    return layers


def after_layer(recipe: Recipe) -> tuple[int, ...]:
    """The recipe's aux layers by the convention of a trace; none where the recipe does not know them."""
    shift = {"after-layer": 0, "before-layer": 1}.get(recipe.draft.aux_convention)
    return () if shift is None else tuple(layer - shift for layer in recipe.draft.aux_ids)


def with_neighbours(layers: Sequence[int], count: int) -> tuple[int, ...]:
    """``layers`` and those just before and after each, within -1 and ``count`` - 1, in rising order."""
    near = {layer + step for layer in layers for step in (-1, 0, 1)}
    return tuple(sorted(layer for layer in near if -1 <= layer < count))
