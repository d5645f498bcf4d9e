"""R040 to R043: the training data against what the recipe says that it is disjoint from, by the hashes of the
conversations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zoo.printable import quoted
from zoo.recipe.data import DataManifests
from zoo.recipe.model import UNKNOWN, Recipe
from zoo.results import Finding, Severity, Where
from zoo.rules.registry import reported, rule
from zoo.rules.subject import Subject


@rule("R040", "training-data-overlap", needs=("recipe", "data", "disjoint"))
def data_overlap(subject: Subject) -> Iterable[Finding]:
    """The training data holds conversations of data that it should be disjoint from.

    What it does: compares the hashes of two data manifests: that of training.data, and that of an entry of
    disjoint_from.
    Why is this bad: the draft has seen what it is measured on; its accept length there says nothing.
    Example: 12 of 880 conversations of a benchmark in the training data.
    Use instead: training data without them, or a recipe that does not say disjoint.
    Since: 0.1.0
    """
    data = _data(subject)
    assert subject.recipe is not None
    for entry, other in data.others.items():
        if data.own is None or other.normalisation != data.own.normalisation:
            continue
        shared = data.own.conversations & other.conversations
        if shared:
            count = f"{len(shared):,} of {len(other.conversations):,}"
            message = f"{count} conversations of {quoted(other.name)} are in the training data"
            message += f", the first {min(shared)[:12]}"
            hint = "take them out of the training data and train again, or do not say disjoint"
            files = (Where(data.own.file), Where(other.file))
            yield Finding(message, hint, subject.recipe.where(entry), files)


@reported("R041", "data-manifest", needs=("recipe",))
def data_manifest() -> None:
    """A data manifest that the recipe names is missing or not one.

    What it does: reads recipes/FILE strictly and validates it (schema data-manifest/1).
    Why is this bad: the recipe leans on a list that cannot be read.
    Example: manifest: bench.data.json, and no such file.
    Use instead: the file, or the name alone: disjoint_from: [bench].
    Since: 0.1.0
    """


@rule("R042", "data-manifest-facts", needs=("recipe", "data"))
def data_manifest_facts(subject: Subject) -> Iterable[Finding]:
    """The recipe names, counts or hashes its data otherwise than the data manifest.

    What it does: compares training.data.name, conversations and manifest_sha256 with the file that
    training.data.manifest names, and the name of an entry of disjoint_from with its manifest.
    Why is this bad: the card would describe other data than the draft was compared with.
    Example: conversations: 3071, and 3,070 hashes in the file.
    Use instead: the manifest of the data that trained this draft, and its numbers.
    Since: 0.1.0
    """
    recipe, own = subject.recipe, _data(subject).own
    assert recipe is not None
    facts = recipe.training.data
    named = [(entry, other, _at(recipe, entry)["name"]) for entry, other in _data(subject).others.items()]
    if own is not None:
        named.insert(0, ("/training/data", own, facts.get("name", UNKNOWN)))
    for entry, manifest, name in named:
        if name not in (UNKNOWN, manifest.name):
            message = f"the data manifest is of {quoted(manifest.name)}, the recipe says {quoted(name)}"
            hint = "use the manifest of the data that is meant, or correct one of the two names"
            here = Where(manifest.file, pointer="/name")
            yield Finding(message, hint, recipe.where(f"{entry}/name"), (here,))
    if own is None:
        return
    count, digest = facts.get("conversations", UNKNOWN), facts.get("manifest_sha256", UNKNOWN)
    if count not in (UNKNOWN, len(own.conversations)):
        message = f"the recipe says {count:,} conversations, the manifest has {len(own.conversations):,}"
        where = recipe.where("/training/data/conversations")
        yield Finding(message, "correct one of the two", where, (Where(own.file, pointer="/conversations"),))
    if digest not in (UNKNOWN, own.sha256):
        message = f"the data manifest has the sha256 {own.sha256}, the recipe says another"
        where = recipe.where("/training/data/manifest_sha256")
        yield Finding(message, "use the manifest of this run's data", where, (Where(own.file),))


@rule("R043", "data-normalisation", severity=Severity.WARNING, needs=("recipe", "data"))
def data_normalisation(subject: Subject) -> Iterable[Finding]:
    """Two data manifests cannot be compared: their conversations were hashed in different forms.

    What it does: wants both manifests to say the same under normalisation.
    Why is this bad: the same conversation then has two hashes, and an overlap shows nowhere.
    Example: "messages as canonical JSON" and "text after the chat template".
    Use instead: both lists hashed in one form.
    Since: 0.1.0
    """
    data, recipe = _data(subject), subject.recipe
    assert recipe is not None
    for entry, other in data.others.items():
        if data.own is not None and other.normalisation != data.own.normalisation:
            message = f"{quoted(other.name)} was hashed in another form than the training data"
            files = (
                Where(data.own.file, pointer="/normalisation"),
                Where(other.file, pointer="/normalisation"),
            )
            yield Finding(message, "hash both in one form", recipe.where(entry), files)


def _at(recipe: Recipe, entry: str) -> Mapping[str, Any]:
    """The entry of ``disjoint_from`` at the JSON pointer ``entry``, which must be one with a manifest."""
    found: Mapping[str, Any] = recipe.training.data["disjoint_from"][int(entry.rpartition("/")[2])]
    return found


def _data(subject: Subject) -> DataManifests:
    assert subject.data is not None
    return subject.data
