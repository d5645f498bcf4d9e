"""What to do about a draft that an engine refuses: the next action, for hints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zoo.drafts.family import family_of
from zoo.engines.readings import KNOWN, EngineReading, Refusal
from zoo.engines.readings.drafts import DraftView
from zoo.engines.readings.words import TITLES, joined, title
from zoo.printable import quoted

# The name under which an engine serves a family whose own name it does not know.
_NAMES = {
    "domino": 'write "architectures": ["DFlashDraftModel"], under which SGLang 0.5.23 serves a Domino draft',
    "peagle": "convert it to the nested layout of speculators, in which vLLM 0.33.0 serves P-EAGLE",
    "eagle3": 'write "architectures": ["LlamaForCausalLMEagle3"], or the class that fits the layers',
    "dspark": 'write "architectures": ["Qwen3DSparkModel"], the dense DSpark that engines know',
}
_KEYS = {
    "markov_rank": "copy markov_rank, markov_head_type and the other keys of the head to the top level of "
    "config.json, where engines look for them",
    "draft_vocab_size": 'state "draft_vocab_size" in config.json, the number of rows of lm_head',
    "mask_token_id": "state mask_token_id in dflash_config",
}


def readers_of(draft: DraftView) -> tuple[EngineReading, ...]:
    """What every engine version that was read makes of the draft."""
    return tuple(draft.read_by(*pair) for pair in KNOWN)


def starting(draft: DraftView) -> list[str]:
    """The engine versions that start with the draft, as people write them."""
    return [title(reading) for reading in readers_of(draft) if reading.covered and not reading.refusals]


def cure(draft: DraftView, refusal: Refusal, start: Sequence[str] = ()) -> str:
    """The next action for a draft that is refused for this reason: what to write, or which of the engines
    that ``start`` with it to take."""
    serve = f"serve it with {joined(start, 'or')}, which {'starts' if len(start) == 1 else 'start'} with it"
    written = _written(draft, refusal)
    if start and written:
        return f"{written}; or {serve}"
    return serve if start else written or "correct this in config.json, as in the training config"


def _written(draft: DraftView, refusal: Refusal) -> str:
    """What to change in the files, or "" where only another engine helps."""
    if refusal.key in _KEYS:
        return _KEYS[refusal.key]
    if refusal.kind == "architecture":
        family = family_of(draft.config)
        return "" if family is None else _NAMES.get(family.name, "")
    if refusal.kind == "tensor":
        return f"mend {quoted(refusal.tensor or 'the tensor')}, or the config keys that say what it is"
    if refusal.kind == "model type" and draft.config.get("speculators_model_type") is None:
        return "write the model_type of the training config (qwen3 for most DFlash drafts, llama for EAGLE3)"
    return "" if refusal.kind == "model type" else "correct this value in config.json"


def engines(readings: Iterable[EngineReading]) -> str:
    """``SGLang 0.5.14 and 0.5.23 and vLLM 0.33.0``."""
    versions: dict[str, list[str]] = {}
    for reading in readings:
        versions.setdefault(reading.engine, []).append(reading.version)
    return joined([f"{TITLES[engine]} {joined(found)}" for engine, found in versions.items()])
