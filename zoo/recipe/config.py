"""The whole config.json that a recipe states, and the tensors that follow from it: what a checkpoint is
compared with, and what a stand-in gets."""

from __future__ import annotations

from typing import Any

from zoo.drafts import Inventory
from zoo.drafts.family import FAMILIES, Family
from zoo.drafts.keys import DIFFUSION, Keys, keys_of
from zoo.recipe.model import Recipe

# Values of config.json that the recipe states outside draft.config -> where it states them.
_STATED_AT = {
    "num_hidden_layers": "/draft/layers",
    "block_size": "/draft/block_size",
    "target_layer_ids": "/draft/aux_layers/ids",
    "mask_token_id": "/draft/mask_token/id",
    "dflash_config.mask_token": "/draft/mask_token/text",
}


def family_of_recipe(recipe: Recipe) -> Family:
    return next(family for family in FAMILIES if family.name == recipe.checkpoint.family)


def keys_of_recipe(recipe: Recipe) -> Keys:
    return keys_of(recipe.checkpoint.family) or DIFFUSION


def config_of(recipe: Recipe) -> dict[str, Any]:
    """config.json in the layout that every engine version reads: the draft's own keys in their block,
    ``rope_theta`` + ``rope_scaling``."""
    draft, keys = recipe.draft, keys_of_recipe(recipe)
    own: dict[str, Any] = {}
    if "mask_token_id" in keys.places:
        own["mask_token_id"] = draft.mask_token_id
    if draft.aux_ids:
        own[keys.places["target_layer_ids"][0][-1]] = list(draft.aux_ids)
    if draft.mask_token is not None:
        own["mask_token"] = draft.mask_token
    own |= draft.config.get(keys.own, {})
    scaling = {key: value for key, value in draft.rope.items() if key not in ("type", "theta")}
    # A plain rope is one without a block; mrope_section may stand beside the type default.
    rope = {"rope_type": draft.rope["type"], **scaling} if scaling or draft.rope["type"] != "default" else {}
    config = {
        **draft.config,
        "num_hidden_layers": draft.layers,
        "rope_theta": draft.rope["theta"],
        "rope_scaling": rope or None,
        "dtype": recipe.checkpoint.dtype,
    }
    if "block_size" in keys.places:
        config |= {"block_size": draft.block_size, "num_target_layers": recipe.target.layers}
    if own:
        config[keys.own] = own
    return dict(sorted(config.items()))


def inventory_of(recipe: Recipe) -> Inventory:
    """Every tensor that the recipe implies: what its family derives from its config, and those that
    ``checkpoint.optional`` names.

    Raises:
        KeyError, TypeError, NotInventoriedError: as the family's inventory.
    """
    family, config, dtype = family_of_recipe(recipe), config_of(recipe), recipe.checkpoint.dtype
    besides = family.optional(config, dtype)
    named = {name: besides[name] for name in recipe.checkpoint.optional if name in besides}
    return dict(sorted({**family.inventory(config, dtype), **named}.items()))


def proposals(recipe: Recipe) -> int | None:
    """Tokens that the draft proposes per verify step, or None where its config does not say: a block counts
    the anchor, except in DSpark, where the block is what is proposed (SGLang's gamma)."""
    block = recipe.draft.block_size
    return block if block is None or recipe.checkpoint.family == "dspark" else block - 1


def recipe_pointer(recipe: Recipe, key: str) -> str:
    """Where the recipe states the canonical config key ``key`` (``zoo.drafts.keys.Keys.stated``)."""
    if key in _STATED_AT:
        return _STATED_AT[key]
    if key.startswith("rope.") and key in keys_of_recipe(recipe).places:
        return "/draft/rope/" + key.removeprefix("rope.")
    return "/draft/config/" + key.replace(".", "/")
