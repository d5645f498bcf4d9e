"""The whole config.json that a recipe states: what a checkpoint's config is compared with, and what a
stand-in gets."""

from __future__ import annotations

from typing import Any

from zoo.drafts.dflash import PLACES
from zoo.recipe.model import Recipe

# Values of config.json that the recipe states outside draft.config -> where it states them.
_STATED_AT = {
    "num_hidden_layers": "/draft/layers",
    "block_size": "/draft/block_size",
    "target_layer_ids": "/draft/aux_layers/ids",
    "mask_token_id": "/draft/mask_token/id",
    "dflash_config.mask_token": "/draft/mask_token/text",
}


def config_of(recipe: Recipe) -> dict[str, Any]:
    """config.json in the layout that every engine version reads: nested ``dflash_config``, ``rope_theta``
    + ``rope_scaling``."""
    draft = recipe.draft
    nested: dict[str, Any] = {"mask_token_id": draft.mask_token_id, "target_layer_ids": list(draft.aux_ids)}
    if draft.mask_token is not None:
        nested["mask_token"] = draft.mask_token
    nested |= draft.config.get("dflash_config", {})
    scaling = {key: value for key, value in draft.rope.items() if key not in ("type", "theta")}
    rope = {} if draft.rope["type"] == "default" else {"rope_type": draft.rope["type"], **scaling}
    config = {
        **draft.config,
        "num_hidden_layers": draft.layers,
        "block_size": draft.block_size,
        "num_target_layers": recipe.target.layers,
        "dflash_config": nested,
        "rope_theta": draft.rope["theta"],
        "rope_scaling": rope or None,
        "dtype": recipe.checkpoint.dtype,
    }
    return dict(sorted(config.items()))


def recipe_pointer(key: str) -> str:
    """Where the recipe states the canonical config key ``key`` (``zoo.drafts.dflash.read_config``)."""
    if key in _STATED_AT:
        return _STATED_AT[key]
    if key in PLACES and key.startswith("rope."):
        return "/draft/rope/" + key.removeprefix("rope.")
    return "/draft/config/" + key.replace(".", "/")
