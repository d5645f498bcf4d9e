"""The draft that a launch command serves, as far as a command can contradict it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from zoo.recipe.config import proposals
from zoo.results import Where

if TYPE_CHECKING:
    from zoo.rules.subject import Subject

CONFIG = "config.json"


class Drafted(NamedTuple):
    """What a recipe says of its draft or, without one, its config.json. ``proposed`` counts the tokens per
    verify step; ``family``, ``block`` and ``heads`` have the places that say so beside them."""

    family: str
    block_size: int | None
    proposed: int | None
    attention_heads: int | None
    kv_heads: int | None
    config: Mapping[str, Any]
    family_at: Where
    block_at: Where
    heads_at: Where


def drafted(subject: Subject) -> Drafted | None:
    """The draft of the recipe, or of the folder; None where there is neither, or nobody knows its family."""
    recipe = subject.recipe
    if recipe is not None:
        config = recipe.draft.config
        return Drafted(
            family=recipe.checkpoint.family,
            block_size=recipe.draft.block_size,
            proposed=proposals(recipe),
            attention_heads=_whole(config.get("num_attention_heads")),
            kv_heads=_whole(config.get("num_key_value_heads")),
            config=config,
            family_at=recipe.where("/checkpoint/family"),
            block_at=recipe.where("/draft/block_size"),
            heads_at=recipe.where("/draft/config/num_attention_heads"),
        )
    if subject.config is None or subject.family is None:
        return None
    family, config = subject.family.name, subject.layout.config
    stated = subject.stated.get("block_size", ())
    block = _whole(stated[0].value) if stated else None
    return Drafted(
        family=family,
        block_size=block,
        proposed=block if block is None or family == "dspark" else block - 1,
        attention_heads=_whole(config.get("num_attention_heads")),
        kv_heads=_whole(config.get("num_key_value_heads", config.get("num_attention_heads"))),
        config=config,
        family_at=Where(CONFIG, pointer="/architectures"),
        block_at=Where(CONFIG, pointer=stated[0].pointer if stated else None),
        heads_at=Where(CONFIG, pointer=subject.layout.pointer("/num_attention_heads")),
    )


def _whole(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None
