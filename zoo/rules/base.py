"""B rules: the draft against the base draft that it was fine-tuned from.

B001 and B002 compare config and headers, B003 to B005 the bytes of the tensors, at deep level.
"""

from __future__ import annotations

from collections.abc import Iterable

from zoo.checkpoint.maps import is_map
from zoo.printable import quoted
from zoo.results import Finding, Severity, Where
from zoo.rules.config import place, same
from zoo.rules.registry import Level, rule
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
    ours, theirs = subject.stated, subject.keys.stated(base.config)
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


@rule("B003", "base-tensor-changed", level=Level.DEEP, needs=("recipe", "checkpoint", "unchanged"))
def base_tensor_changed(subject: Subject) -> Iterable[Finding]:
    """A tensor that training must not touch differs from the base draft's.

    What it does: every tensor of base.unchanged_tensors must have the bytes of the base's tensor of that
    name.
    Why is this bad: it was frozen, or is shared with other drafts of this base; a change is a mistake of the
    training or of the export.
    Example: unchanged_tensors: [fc.weight], and another fc.weight.
    Use instead: the base's tensor, or a recipe without that entry.
    Since: 0.1.0
    """
    recipe, checkpoint = subject.recipe, subject.checkpoint
    assert recipe is not None
    assert checkpoint is not None
    for index, name in enumerate(recipe.base.unchanged_tensors if recipe.base is not None else ()):
        if name not in (subject.unchanged or ()):
            what = "differs from the base draft's" if name in checkpoint.tensors else "is not in the draft"
            where = Where(checkpoint.file_of.get(name, checkpoint.source), tensor=name)
            hint = "take the base's tensor, or remove the entry"
            line = recipe.where(f"/base/unchanged_tensors/{index}")
            yield Finding(f"tensor {quoted(name)} {what}", hint, where, (line,))


@rule(
    "B004",
    "base-tensor-untrained",
    severity=Severity.WARNING,
    level=Level.DEEP,
    needs=("recipe", "checkpoint", "unchanged"),
)
def base_tensor_untrained(subject: Subject) -> Iterable[Finding]:
    """A tensor is the base draft's, byte for byte, and the recipe does not say so.

    What it does: lists tensors that equal the base's and are not in base.unchanged_tensors. Vocabulary maps
    are left out: they must be the base's.
    Why is this bad: training changes every tensor that it reaches. One that it did not was frozen, left out
    of the optimizer, or not exported.
    Example: layers.3.self_attn.k_norm.weight is the base's.
    Use instead: an export of the trained tensor, or its name under base.unchanged_tensors.
    Since: 0.1.0
    """
    recipe, checkpoint = subject.recipe, subject.checkpoint
    assert recipe is not None
    assert checkpoint is not None
    frozen = recipe.base.unchanged_tensors if recipe.base is not None else ()
    if _is_the_base(subject):
        return
    for name in sorted(subject.unchanged or ()):
        if name not in frozen and not is_map(name):
            where = Where(checkpoint.file_of[name], tensor=name)
            hint = "export the trained tensor, or name it under base.unchanged_tensors"
            message = f"tensor {quoted(name)} is the base draft's, byte for byte"
            yield Finding(message, hint, where, (recipe.where("/base"),))


@rule("B005", "base-itself", level=Level.DEEP, needs=("recipe", "checkpoint", "unchanged"))
def base_itself(subject: Subject) -> Iterable[Finding]:
    """The draft is its base: all tensors that training changes are the same.

    What it does: compares the bytes of every tensor with the base draft's. Vocabulary maps do not count:
    they must be the base's.
    Why is this bad: nothing was trained, or the wrong folder is about to be released under a new name.
    Example: --checkpoint with the folder of the base draft.
    Use instead: the folder of the fine-tune.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    assert subject.checkpoint is not None
    if _is_the_base(subject):
        count, maps = len(_trained(subject)), len(subject.checkpoint.tensors) - len(_trained(subject))
        besides = " besides the vocabulary maps" if maps else ""
        message = f"all {count} tensors{besides} are the base draft's, byte for byte"
        where, line = Where(subject.checkpoint.source), subject.recipe.where("/base")
        yield Finding(message, "give the folder of the fine-tune: this is the base", where, (line,))


def _is_the_base(subject: Subject) -> bool:
    """Whether no tensor was trained; vocabulary maps do not count."""
    trained = _trained(subject)
    return bool(trained) and trained <= (subject.unchanged or frozenset())


def _trained(subject: Subject) -> set[str]:
    """The tensors that training can change."""
    assert subject.checkpoint is not None
    return {name for name in subject.checkpoint.tensors if not is_map(name)}
