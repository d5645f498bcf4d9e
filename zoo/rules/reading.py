"""E020 and on: what the engines make of a correct draft, by their own loaders (``zoo.engines.readings``).

The engines are those of the recipe's profiles; for a folder without a recipe, those that ``--engine`` names.
A recipe is judged by the draft that it describes, so that what is wrong with a file stays with the I rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoo.engines.hazards import HAZARDS
from zoo.engines.readings import KNOWN, Fate, Missing
from zoo.engines.readings.cures import cure, starting
from zoo.engines.readings.drafts import Judged, pinned
from zoo.engines.readings.words import spoken, title
from zoo.printable import quoted
from zoo.results import Finding, Severity, Where
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_OF_OTHER_RULES = ("hidden_act",)  # C073
# Keys of dflash_config that change what a draft computes without a tensor of their own (of others E020
# speaks), and the values that change nothing.
_COMPUTED: Mapping[str, tuple[Any, ...]] = {
    "use_swa": (None, False),
    "attention_value_scale": (None, 1),
    "final_logit_softcapping": (None, 0),
    "output_multiplier": (None, 1),
    "input_embedding_scale": (None, 1),
    "sample_from_anchor": (None, False),
}


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
            which = spoken(names, judged.reading.fates)
            message = f"{title(judged.reading)} ignores {count} of this draft: {which}"
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
            if held not in (Missing.BORROWED, Missing.UNUSED) and not _part_of_draft(subject, name)
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
        start = starting(judged.draft) if judged.reading.refusals else []
        for refusal in judged.reading.refusals:
            foreign = refusal.tensor is not None and not _in_inventory(subject, refusal.tensor)
            if foreign or refusal.key in _OF_OTHER_RULES:
                continue
            message = f"{title(judged.reading)} refuses this draft: {refusal.reason}"
            yield Finding(
                message, cure(judged.draft, refusal, start), _where(subject, judged, refusal.tensor)
            )


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


@rule("E042", "engine-serves-wrongly", needs=("readings",))
def serves_wrongly(subject: Subject) -> Iterator[Finding]:
    """The engine starts with this draft and computes something else than it was trained for.

    What it does: asks the reading of each engine what it serves wrongly although every tensor is there: a
    head that is cut out of the target's, a fusion layer that is never run.
    Why is this bad: the server starts, and proposes other words or feeds the draft with other hidden states.
    Nothing reports it but the accept length.
    Example: "eagle_config": {"use_aux_hidden_state": false} beside an fc over three layers of the target.
    Use instead: the config of the training run: "use_aux_hidden_state": true, "tie_word_embeddings": false.
    Sources: sglang 0.5.14 and 0.5.23, models/llama_eagle3.py, layers/logits_processor.py and
    model_executor/model_runner.py; vllm 0.33.0, models/llama_eagle3.py; docs/engines.md.
    Since: 0.1.0
    """
    for judged in subject.readings or ():
        faults = () if judged.reading.refusals else judged.reading.faults
        for fault in faults:
            hint = "correct config.json as in the training config, or bring the tensors that it promises"
            yield Finding(f"{title(judged.reading)} {fault}", hint, _where(subject, judged, None))


@rule("E040", "layer-ids-not-read", needs=("readings",))
def layer_ids_not_read(subject: Subject) -> Iterator[Finding]:
    """The engine does not read the layer ids of the draft, and taps others of the target.

    What it does: asks the reading of each engine which layers it taps, and compares layers of its own choice
    with those that the draft states; with a recipe whose ids are after-layer, also those that it makes of
    them. (SGLang taps one layer less on DeepSeek-like targets; the target's files must be at hand.)
    Why is this bad: the draft is fed with hidden states of layers that it was not trained on. It serves, and
    nothing reports it.
    Example: vllm==0.33.0 for an EAGLE3 draft with its ids in eagle_config: the default runner looks for
    eagle_aux_hidden_state_layer_ids at the top level alone, where id i is the output of layer i - 1.
    Use instead: SGLang, or the ids at the top level too, each one more than in eagle_config.
    Sources: vllm 0.33.0 v1/worker/gpu/spec_decode/eagle/eagle3_utils.py; docs/engines.md.
    Since: 0.1.0
    """
    for judged in subject.readings or ():
        ids, stated = judged.reading.layer_ids, _layer_ids(subject)
        if judged.reading.refusals or ids is None or not stated or ids.after == stated:
            continue
        taps = "others of its own choice" if ids.after is None else ", ".join(map(str, ids.after))
        where, lines, named = _where(subject, judged, None), _ids_line(subject), ", ".join(map(str, stated))
        if ids.guessed:
            message = (
                f"{title(judged.reading)} does not read the layer ids {named} of this draft, and taps {taps}"
            )
            yield Finding(message, HAZARDS["E040"].advice, where, lines)
        elif subject.recipe is not None and subject.recipe.draft.aux_convention == "after-layer":
            message = (
                f"{title(judged.reading)} taps layers {taps} of this target, the draft was trained on {named}"
            )
            hint = "serve it with an engine that taps those, or correct ids and convention of aux_layers"
            yield Finding(message, hint, where, lines)


@rule("E041", "engine-ignores-keys", needs=("readings",))
def ignores_keys(subject: Subject) -> Iterator[Finding]:
    """The engine never looks at a config key that changes what the draft computes.

    What it does: of the keys in dflash_config that the reading of an engine says it ignores, looks for a
    sliding window (use_swa), scales and caps of logits, values and embeddings, and the anchor position, where
    they are set to something.
    Why is this bad: the engine serves another draft than the trained one, at a lower accept length, and
    nothing reports it. SGLang runs full attention where ModelOpt's use_swa asks for a window.
    Example: serve: [sglang-0.5.14-b200x8] for a draft with "dflash_config": {"use_swa": true, ...}.
    Use instead: layer_types and sliding_window, which every engine reads, or an engine that reads the key.
    Sources: sglang 0.5.14 and 0.5.23, speculative/dflash_utils.py; vllm 0.33.0, models/qwen3_dflash.py.
    Since: 0.1.0
    """
    for judged in subject.readings or ():
        if judged.reading.refusals:
            continue
        for name in judged.reading.ignored_keys:
            outer, _, key = name.partition(".")
            value = judged.draft.config[outer][key]
            if key not in _COMPUTED or value in _COMPUTED[key] or _slides_anyway(key, judged.draft.config):
                continue
            message = f"{title(judged.reading)} never looks at {name}, which is {quoted(str(value), 40)}"
            window = (
                'write layer_types with "sliding_attention", "sliding_window" and "use_sliding_window": true'
            )
            hint = window if key == "use_swa" else "serve it with an engine that reads it"
            yield Finding(message, hint, _where(subject, judged, None, f"/{outer}/{key}"))


def _slides_anyway(key: str, config: Mapping[str, Any]) -> bool:
    """Whether the layers slide without use_swa."""
    types = config.get("layer_types")
    return key == "use_swa" and isinstance(types, list) and "sliding_attention" in types


def _layer_ids(subject: Subject) -> tuple[int, ...]:
    """The layers of the target whose outputs the draft says that it reads, or ()."""
    if subject.recipe is not None:
        return subject.recipe.draft.aux_ids
    stated = subject.stated["target_layer_ids"][0].value if "target_layer_ids" in subject.stated else ()
    return tuple(stated) if isinstance(stated, list) else ()


def _ids_line(subject: Subject) -> tuple[Where, ...]:
    return () if subject.recipe is None else (subject.recipe.where("/draft/aux_layers/ids"),)


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


def _where(subject: Subject, judged: Judged, tensor: str | None, key: str | None = None) -> Where:
    """The pin of the profile; without one the tensor, or the key of config.json (a JSON pointer)."""
    if judged.profile is not None:
        return judged.profile.where("/engine")
    file = None if subject.checkpoint is None or tensor is None else subject.checkpoint.file_of.get(tensor)
    return Where(file or "config.json", pointer=None if file else key, tensor=tensor if file else None)
