"""What vLLM makes of the speculative part of a launch command. Read in the published wheel 0.33.0
(config/speculative.py, engine/arg_utils.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.engines.flags import flag_value

if TYPE_CHECKING:
    from zoo.recipe.model import Recipe

SPECULATIVE_CONFIG = ("--speculative-config", "-sc")

# The method that serves a family. P-EAGLE and Domino: nobody has read which one, if any.
METHODS = {"dflash": "dflash", "dflash2": "dflash", "dspark": "dspark", "eagle3": "eagle3"}
# Where no method is given, vLLM looks for these words in the draft's path and takes the first that is there.
_WORDS = {"eagle-": "eagle", "eagle3": "eagle3", "dflash": "dflash", "dspark": "dspark"}
# Flags of their own, and the key of --speculative-config that each one stands for.
_SHORT = {"--spec-method": "method", "--spec-model": "model", "--spec-tokens": "num_speculative_tokens"}


def speculative_config(argv: Sequence[str]) -> Mapping[str, Any]:
    """What the command says of speculation, keys as in --speculative-config; {} where that is no JSON
    object."""
    try:
        whole = json.loads(flag_value(argv, *SPECULATIVE_CONFIG) or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(whole, dict):
        return {}
    short = {key: value for flag, key in _SHORT.items() if (value := flag_value(argv, flag))}
    return {**whole, **short}


def speculation(recipe: Recipe) -> dict[str, Any]:
    """The keys of --speculative-config that follow from a recipe: the method of its family, and the tokens
    proposed per step (vLLM does not count the anchor of a block). Without those that nobody knows."""
    from zoo.recipe.config import proposals  # which needs the families

    method, proposed = METHODS.get(recipe.checkpoint.family), proposals(recipe)
    found = {"method": method, "num_speculative_tokens": proposed}
    return {key: value for key, value in found.items() if value is not None}


def guessed_method(path: str) -> str:
    """The method that vLLM takes for a draft at ``path`` where none is given."""
    return next((method for word, method in _WORDS.items() if word in path.lower()), "draft_model")
