"""The reading of SGLang 0.5.14 against the record of its real loader (tests/engines/loader, made by
scripts/loader_sample.py): who fills which parameter, what is ignored, and whether it stops."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scripts.loader_sample import BASES, Draft, mutate
from zoo.engines.readings import EngineReading, Fate, Missing, reading_of

RECORD: dict[str, Any] = json.loads((Path(__file__).parent / "loader" / "sglang-0.5.14.json").read_text())
FUSED = {"q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj"} | {
    "gate_proj": "gate_up_proj",
    "up_proj": "gate_up_proj",
    "q_a_proj": "fused_qkv_a_proj_with_mqa",
    "kv_a_proj_with_mqa": "fused_qkv_a_proj_with_mqa",
}
PARTS = Counter(FUSED.values())
SAMPLES: list[dict[str, Any]] = RECORD["samples"]


def read(draft: Draft) -> EngineReading:
    tensors = {name: (spec.dtype, spec.shape) for name, spec in draft.tensors.items()}
    return reading_of("sglang", "0.5.14", draft.config, tensors)


def unfilled(reading: EngineReading) -> tuple[set[str], set[str]]:
    """The engine's parameters that no tensor fills, and those that are filled in part."""
    absent: Counter[tuple[str, int]] = Counter()
    for name, held in reading.missing.items():
        if held is not Missing.BORROWED and name != "d2t":
            absent[parameter_of(name, str(reading.loads_as))] += 1
    whole = {name for (name, parts), count in absent.items() if count == parts}
    return whole, {name for name, _ in absent} - whole


def parameter_of(tensor: str, loads_as: str) -> tuple[str, int]:
    """The engine's parameter for a tensor of its own layout, and how many tensors make it."""
    name, parts = tensor, 1
    found = re.search(r"\.(\w+)\.(?:weight|bias)$", tensor)
    if found and found[1] in FUSED:
        fused = FUSED[found[1]]
        name, parts = tensor.replace(f".{found[1]}.", f".{fused}."), PARTS[fused]
    if "Eagle3" in loads_as and tensor != "lm_head.weight":
        name = f"model.{name}"
    if loads_as == "Eagle3DeepseekV2ForCausalLM":
        name = name.replace("layers.0.", "midlayer.")
    return name, parts


def disagreement(sample: dict[str, Any]) -> str:
    """What the reading says otherwise than the loader did; "" if nothing."""
    draft = mutate(BASES[sample["base"]], sample["kind"], sample["args"])
    reading, engine = read(draft), sample["engine"]
    if not reading.covered:
        return "" if sample["args"].get("pointer") == "/quantization_config" else "not covered"
    if bool(reading.refusals) != ("error" in engine):
        return f"stops: {[each.reason for each in reading.refusals]}, loader {engine.get('error')}"
    if reading.refusals:
        return ""
    whole, partly = unfilled(reading)
    if whole != set(engine.get("untouched", [])) or partly != set(engine.get("partly", [])):
        return f"unfilled: {sorted(whole)}, partly {sorted(partly)}, loader {engine}"
    dflash = reading.algorithm == "DFLASH"
    unread = [Fate.IGNORED, Fate.SKIPPED, *([Fate.BORROWED] if dflash else [])]
    ignored = {name for fate in unread for name in reading.tensors(fate)}
    if ignored != set(engine.get("ignored", [])):
        return f"ignored: {sorted(ignored)}, loader {engine}"
    cut = {note.partition(" is ")[0] for note in reading.notes if "is cut to" in note}
    if cut != set(engine.get("cut", {})):
        return f"cut: {sorted(cut)}, loader {engine}"
    return ""


@pytest.mark.parametrize("base", BASES)
def test_the_reading_says_what_the_loader_does(base: str) -> None:
    samples = [sample for sample in SAMPLES if sample["base"] == base]
    assert len(samples) > 20
    wrong = {sample["words"]: found for sample in samples if (found := disagreement(sample))}
    assert wrong == {}
