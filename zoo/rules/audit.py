"""C rules of a folder without a recipe: what no profile tells, since nobody has said yet who serves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from packaging.version import Version

from zoo.drafts.keys import ROPE_BLOCKS
from zoo.engines.hazards import has_latent_attention, yarn_amplitude
from zoo.engines.readings import KNOWN, EngineReading, knows
from zoo.engines.readings.cures import cure, engines, readers_of
from zoo.engines.readings.drafts import found_in
from zoo.engines.readings.words import TITLES, title
from zoo.results import Finding, Severity
from zoo.rules.config import place
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_SAME = 1e-3  # two amplitudes that agree to three digits
# What only a scaled rope has.
_SCALED = ("factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "mscale", "mscale_all_dim")


@rule("C102", "no-engine-starts", severity=Severity.WARNING, needs=("config", "header"))
def no_engine_starts(subject: Subject) -> Iterable[Finding]:
    """No engine that was read starts with this draft.

    What it does: for a folder without a recipe, asks the reading of every engine version; looks for an
    architecture that none knows, and for a config that those stop at which do.
    Why is this bad: the draft is whole, and nobody can serve it as it is. Trainers write names and places
    that engines do not read.
    Example: "architectures": ["DominoDraftModel"], which SGLang serves as DFlashDraftModel only.
    Use instead: what the finding says; docs/engines.md has the table.
    Sources: docs/engines.md.
    Since: 0.1.0
    """
    assert subject.checkpoint is not None
    draft = None if subject.recipe is not None else found_in(subject.checkpoint, None)
    readings = () if draft is None else readers_of(draft)
    if draft is None or any(not reading.refusals for reading in readings):
        return
    stopped = [reading for reading in readings if _cause(reading) is not None]
    if len(stopped) < len(readings):
        return  # a tensor, or a value that other rules report
    # An engine that knows the architecture says more than one that does not.
    last = min(stopped, key=lambda reading: reading.refusals[0].kind == "architecture")
    refusal = last.refusals[0]
    message = f"none of {engines(readings)} starts with this draft: {refusal.reason}"
    where = place("/architectures" if refusal.kind == "architecture" else "")
    yield Finding(message, cure(draft, refusal), where)


@rule("E043", "served-wrongly-everywhere", needs=("config", "header"))
def served_wrongly_everywhere(subject: Subject) -> Iterable[Finding]:
    """Every engine that starts with this draft computes something else than it was trained for.

    What it does: for a folder without a recipe, and where no engine is named, asks the reading of every
    engine version for what it serves wrongly although every tensor is there. (Otherwise: E042.)
    Why is this bad: the server starts, and proposes other words or feeds the draft with other hidden states.
    Nothing reports it but the accept length.
    Example: "tie_word_embeddings": true beside "draft_vocab_size": 32000, and no lm_head in the file.
    Use instead: "tie_word_embeddings": false and the head of the draft in the file.
    Sources: sglang 0.5.14 and 0.5.23, layers/logits_processor.py and models/llama_eagle3.py; vllm 0.33.0,
    models/llama_eagle3.py and layers/logits_processor.py.
    Since: 0.1.0
    """
    if subject.recipe is not None or subject.engines:
        return
    assert subject.checkpoint is not None
    draft = found_in(subject.checkpoint, None)
    readings = () if draft is None else readers_of(draft)
    served = [reading for reading in readings if reading.covered and not reading.refusals]
    if served and all(reading.faults for reading in served):
        message = f"{title(served[0])} {served[0].faults[0]}"
        more = f" ({engines(served[1:])}: as wrong)" if served[1:] else ""
        yield Finding(message + more, "correct config.json, or bring the tensors that it promises", place())


def _cause(reading: EngineReading) -> str | None:
    """Why an engine stops: at the architecture, or where it looks for a key; None for any other reason."""
    first = reading.refusals[0]
    if first.kind == "architecture" and reading.loads_as is None:
        return first.reason
    return first.reason if first.key in ("markov_rank", "draft_vocab_size") else None


@rule("C103", "rope-without-type", needs=("config",))
def rope_without_type(subject: Subject) -> Iterable[Finding]:
    """The config scales the rope and does not say how.

    What it does: looks for a factor, or another key of a scaled rope, in a rope_scaling or rope_parameters
    that has neither rope_type nor type.
    Why is this bad: SGLang stops ("Unknown RoPE scaling type") or, where transformers fills in "default",
    serves the draft without the scaling that it was trained with, and nothing reports it.
    Example: "rope_scaling": {"factor": 64, "original_max_position_embeddings": 4096}.
    Use instead: "rope_scaling": {"rope_type": "yarn", "factor": 64, ...}.
    Sources: sglang 0.5.14 and 0.5.23, layers/rotary_embedding/factory.py; transformers 5.8.1,
    modeling_rope_utils.py (standardize_rope_params).
    Since: 0.1.0
    """
    for name in ROPE_BLOCKS:
        block = subject.layout.config.get(name)
        if not isinstance(block, Mapping) or "rope_type" in block or "type" in block:
            continue
        scaled = [key for key in _SCALED if block.get(key) is not None]
        if scaled:
            message = f"{name} has {scaled[0]} and no rope_type, so the scaling is refused or lost"
            hint = 'state "rope_type" as in training, e.g. "yarn"'
            yield Finding(message, hint, place(subject.layout.pointer(f"/{name}")))


@rule("C104", "rope-amplitude-open", severity=Severity.WARNING, needs=("config",))
def rope_amplitude_open(subject: Subject) -> Iterable[Finding]:
    """Readers of this config scale the rope by different amplitudes.

    What it does: for a folder without a recipe, compares what transformers, which most trainers use, and the
    engine versions that know the architecture make of the YaRN keys. (With a recipe: E001, E004, E014.)
    Why is this bad: SGLang before 0.5.16 ignores mscale and mscale_all_dim, only SGLang reads attn_factor and
    only vLLM and transformers attention_factor. A draft that is served with another amplitude than it was
    trained with loses accept length, and nothing reports it.
    Example: "rope_scaling": {"rope_type": "yarn", "factor": 64, "mscale": 1.0, "mscale_all_dim": 1.0}.
    Use instead: the same config, an engine version that reads the amplitude of the training run, and a recipe
    that states it (draft.rope.amplitude_as_trained).
    Sources: sgl-project/sglang#31232, sgl-project/sglang#22711; sglang 0.5.14 and 0.5.23,
    layers/rotary_embedding/; vllm 0.33.0, layers/rotary_embedding/; transformers, modeling_rope_utils.py.
    Since: 0.1.0
    """
    if subject.recipe is not None:
        return
    rope = _rope(subject)
    try:
        found = _amplitudes(rope, subject.layout.config)
    except (TypeError, ValueError):
        return  # a value that is no number: C074
    if max(found.values()) - min(found.values()) > _SAME * max(found.values()):
        said = ", ".join(f"{float(round(value, 4))} in {reader}" for reader, value in found.items())
        hint = "find out which one the draft was trained with, and serve it with an engine that reads that"
        yield Finding(f"the YaRN amplitude is {said}", hint, place(_place(subject)))


def _rope(subject: Subject) -> Mapping[str, Any]:
    """The rope as a recipe would state it."""
    return {
        key.removeprefix("rope."): stated[0].value
        for key, stated in subject.stated.items()
        if key.startswith("rope.")
    }


def _amplitudes(rope: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, float]:
    """Who reads the rope -> the amplitude: the engine versions that know the draft, and transformers."""
    latent = has_latent_attention(config)
    found = {"transformers": yarn_amplitude(rope, "transformers")}
    for engine, version in KNOWN:
        if knows(engine, version, config):
            reader = f"{TITLES[engine]} {version}"
            found[reader] = yarn_amplitude(rope, engine, Version(version), latent=latent)
    return {name: value for name, value in sorted(found.items()) if value is not None}


def _place(subject: Subject) -> str:
    """The block that states the type of the rope."""
    return subject.stated["rope.type"][0].pointer.rpartition("/")[0]
