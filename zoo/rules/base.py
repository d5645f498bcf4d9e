"""B rules: the draft against the base draft that it was fine-tuned from."""

from __future__ import annotations

from collections.abc import Iterable

from zoo.drafts.dflash import read_config
from zoo.printable import quoted
from zoo.results import Finding, Where
from zoo.rules.config import place, same
from zoo.rules.registry import rule
from zoo.rules.subject import Subject


@rule("B001", "base-config", needs=("recipe", "config", "base"))
def base_config(subject: Subject) -> Iterable[Finding]:
    """The config differs from the base draft's although the recipe says that it is identical.

    What it does: with base.config: identical, compares every key of both config.json files.
    Why is this bad: a fine-tune does not change the architecture; a changed key is a mistake of the export.
    Example: "rope_theta": 10000 in the fine-tune, 50000 in the base.
    Use instead: the base's config.json, or base.config: changed.
    Since: 0.1.0
    """
    recipe, base = subject.recipe, subject.base
    assert recipe is not None
    assert base is not None
    if recipe.base is None or recipe.base.config != "identical":
        return
    where = recipe.where("/base/config")
    if base.config is None:
        yield Finding(f"{quoted(base.source)} has no readable config.json", "check the base folder", where)
        return
    ours, theirs = read_config(subject.config or {}), read_config(base.config)
    for key in sorted(set(ours) | set(theirs)):
        one, two = ours.get(key, (None,))[0], theirs.get(key, (None,))[0]
        if one is None or two is None or not same(one.value, two.value):
            values = [quoted(str(each.value), 80) if each else "absent" for each in (one, two)]
            message = f"{quoted(key)} is {values[0]} here and {values[1]} in the base draft"
            hint = "take the base's config.json, or write base.config: changed"
            yield Finding(message, hint, place(one.pointer if one else ""), (where,))


@rule("B002", "base-inventory", needs=("recipe", "header", "base"))
def base_inventory(subject: Subject) -> Iterable[Finding]:
    """The tensors differ from the base draft's although the recipe says that the inventory is identical.

    What it does: with base.inventory: identical, compares names, shapes and dtypes.
    Why is this bad: a fine-tune trains the same tensors; another set is the sign of a broken export.
    Example: one tensor fewer than the base.
    Use instead: export again, or base.inventory: changed.
    Since: 0.1.0
    """
    recipe, base, checkpoint = subject.recipe, subject.base, subject.checkpoint
    assert recipe is not None
    assert base is not None
    assert checkpoint is not None
    if recipe.base is None or recipe.base.inventory != "identical":
        return
    ours = {name: (tensor.dtype, tensor.shape) for name, tensor in checkpoint.tensors.items()}
    theirs = {name: (tensor.dtype, tensor.shape) for name, tensor in base.tensors.items()}
    differing = sorted(name for name in set(ours) | set(theirs) if ours.get(name) != theirs.get(name))
    if differing:
        first = differing[0]
        message = (
            f"{len(differing)} tensors differ from the base draft in name, shape or dtype: {quoted(first)}"
        )
        where = Where(checkpoint.file_of.get(first, checkpoint.source), tensor=first)
        hint = "export again, or write base.inventory: changed"
        yield Finding(message, hint, where, (recipe.where("/base/inventory"),))
