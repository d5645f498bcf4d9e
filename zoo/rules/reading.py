"""E020 and on: what the engines make of a correct draft, by their own loaders (``zoo.engines.readings``).

The engines are those of the recipe's profiles; for a folder without a recipe, those that ``--engine`` names.
A recipe is judged by the draft that it describes, so that what is wrong with a file stays with the I rules.
"""

from __future__ import annotations

from collections.abc import Iterator

from zoo.engines.readings import KNOWN, Fate, Missing
from zoo.engines.readings.drafts import Judged, pinned
from zoo.engines.readings.words import spoken, title
from zoo.printable import quoted
from zoo.results import Finding, Severity, Where
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_OF_OTHER_RULES = ("hidden_act",)  # C073


@rule("E020", "engine-ignores-tensors", needs=("readings",))
def ignored(subject: Subject) -> Iterator[Finding]:
    """The engine ignores tensors of the draft.

    What it does: asks the reading of each engine which tensors of a complete draft it has no place for.
    Why is this bad: the engine skips them without a word and serves what is left: a DSpark draft without its
    Markov head, say, at the accept length of a worse draft.
    Example: serve: [sglang-0.5.14-b200x8] for a DSpark draft whose config says DFlashDraftModel.
    Use instead: an engine version that reads the family, or the architecture name that it knows.
    Sources: sglang 0.5.14 models/dflash.py, load_weights; docs/engines.md.
    Since: 0.1.0
    """
    for judged in subject.readings or ():
        names = [name for name in judged.reading.tensors(Fate.IGNORED) if _in_inventory(subject, name)]
        if names:
            count = f"{len(names)} tensors" if len(names) > 1 else "one tensor"
            message = f"{title(judged.reading)} ignores {count} of this draft: {spoken(names)}"
            hint = "serve it with an engine that reads them; see: zoo verify NAME --engine all"
            yield Finding(message, hint, _where(subject, judged, names[0]))


@rule("E021", "engine-misses-tensors", needs=("readings",))
def unfilled(subject: Subject) -> Iterator[Finding]:
    """The engine looks for tensors that a complete draft of this kind does not have.

    What it does: asks the reading of each engine which parameters stay uninitialised, or keep the value that
    they were built with, when the draft is complete.
    Why is this bad: nothing reports it. The parameter is whatever was in memory and the accept length falls.
    Example: attention_bias: true under an architecture whose exporter writes no biases.
    Use instead: the config keys that describe the tensors, or an engine that does not want more.
    Sources: sglang 0.5.14 models/dflash.py; vllm 0.33.0 models/qwen3_dflash.py; docs/engines.md.
    Since: 0.1.0
    """
    for judged in subject.readings or ():
        if judged.draft.tensors is None or judged.reading.refusals:
            continue
        absent = [
            name
            for name, held in judged.reading.missing.items()
            if held is not Missing.BORROWED and not _part_of_draft(subject, name)
        ]
        if absent and not _renamed(judged):
            more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
            message = f"{title(judged.reading)} wants {quoted(absent[0])}{more}, which this draft has not"
            hint = "correct the config key that makes the engine build it, or take another engine"
            yield Finding(message, hint, _where(subject, judged, None))


@rule("E022", "engine-refuses-draft", needs=("readings",))
def refused(subject: Subject) -> Iterator[Finding]:
    """The engine does not start with this draft.

    What it does: asks the reading of each engine whether its config parser, registry or loader raises.
    Why is this bad: the command on the card does not work.
    Example: serve: [sglang-0.5.14-b200x8] for a draft with the architecture DFlash2DraftModel.
    Use instead: an engine version that knows the architecture, or the config keys that it asks for.
    Sources: docs/engines.md.
    Since: 0.1.0
    """
    for judged in subject.readings or ():
        for refusal in judged.reading.refusals:
            foreign = refusal.tensor is not None and not _in_inventory(subject, refusal.tensor)
            if foreign or refusal.key in _OF_OTHER_RULES:
                continue
            message = f"{title(judged.reading)} refuses this draft: {refusal.reason}"
            hint = f"see {refusal.source}"
            yield Finding(message, hint, _where(subject, judged, refusal.tensor))


@rule("E023", "engine-not-read", severity=Severity.WARNING, needs=("recipe",))
def not_read(subject: Subject) -> Iterator[Finding]:
    """Nobody has read what this engine version makes of a draft.

    What it does: looks up each profile's engine version among those whose loaders were read. A version
    between two of them is not guessed.
    Why is this bad: whether the engine ignores tensors, guesses layer ids or refuses the draft is then not
    checked.
    Example: engine: sglang==0.5.20.
    Use instead: a version that was read; docs/engines.md lists them and says how to add one.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    for profile in subject.recipe.profiles:
        if pinned(profile) is None:
            known = ", ".join(f"{engine}=={version}" for engine, version in KNOWN)
            message = f"no reading for {profile.engine} {profile.version}; known are {known}"
            yield Finding(message, "pin one of these, or check the draft by hand", profile.where("/engine"))


def _in_inventory(subject: Subject, tensor: str) -> bool:
    """Whether the tensor belongs to a complete draft; of others the I rules speak."""
    if subject.inventory is None:
        return True
    return tensor in subject.inventory or tensor in subject.optional


def _part_of_draft(subject: Subject, parameter: str) -> bool:
    """Whether a file of this draft has to bring ``parameter``; a file that does not is for I001."""
    wanted = subject.inventory or {}
    return subject.recipe is None and any(
        name.replace("midlayer.", "layers.0.") == parameter for name in wanted
    )


def _renamed(judged: Judged) -> bool:
    """A draft whose tensors are ignored misses the same ones under other names: one finding is enough."""
    return bool(judged.reading.tensors(Fate.IGNORED))


def _where(subject: Subject, judged: Judged, tensor: str | None) -> Where:
    if judged.profile is not None:
        return judged.profile.where("/engine")
    file = None if subject.checkpoint is None or tensor is None else subject.checkpoint.file_of.get(tensor)
    return Where(file or "config.json", tensor=tensor if file else None)
