"""What the real loader of SGLang 0.5.14 did with 900 tiny drafts, against what the verifier says of them.

The record was made by scripts/loader_sample.py in an environment with SGLang; nothing here needs it. No
statement about the engine is judged by our own reading of its code alone.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from zoo.engines.readings import EngineReading, Fate, Missing, reading_of
from zoo.verify import verify_source

Json = dict[str, Any]
RECORD = Path(__file__).parent / "loader" / "sglang-0.5.14.json"
KINDS = {"none", "prefix", "drop", "rename", "swap", "reshape", "recast", "duplicate", "config", "null"}
ANSWERS = {"error", "untouched", "partly", "ignored", "overwritten", "cut", "padded", "warnings", "replaced"}

TRAINED = "another plausible value: only a recipe says which one was trained"
SAME = "means the same as before"
SWAPPED = "two tensors of one shape and dtype: only their values differ"
ENGINE = "other versions of the engine read it: a question for --engine"
# What a bare `zoo verify FOLDER` does not see: (kind, what) -> why. What: the pointer and the value in
# config.json (null: the key is absent), or the tensor.
UNSEEN: dict[tuple[str, str], str] = {
    ("swap", "alike"): SWAPPED,
    ("none", "domino as DFlashDraftModel"): ENGINE,  # 0.5.23 reads Domino under this name and no other.
    ("config", '/architectures ["DFlash2DraftModel"]'): ENGINE,
    ("config", '/model_type "llama"'): TRAINED,
    ("config", '/model_type "qwen2"'): TRAINED,
    ("config", "/rms_norm_eps 0.001"): TRAINED,
    ("config", "/rope_theta 10000.0"): TRAINED,
    (
        "config",
        '/rope_scaling {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}',
    ): TRAINED,
    ("config", "/max_position_embeddings 32"): TRAINED,
    ("config", "/block_size 8"): TRAINED,
    ("config", "/num_target_layers 12"): TRAINED,
    ("config", "/dflash_config/target_layer_ids [1, 5]"): TRAINED,
    ("config", "/dflash_config/mask_token_id 94"): TRAINED,
    ("config", "/norm_output true"): TRAINED,
    ("config", "/target_hidden_size 32"): SAME,
}
# Bases that the verifier refuses as they are, so that a mutation of them proves little.
REFUSED = {"dflash, prefix model.", "dflash2 as DFlashDraftModel", "dspark as DFlashDraftModel"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = REPOSITORY / "scripts" / "loader_sample.py"
    spec = importlib.util.spec_from_file_location("loader_sample", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def record() -> Json:
    loaded: Json = json.loads(RECORD.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def drafts(script: ModuleType, record: Json) -> list[Any]:
    """The mutated draft of each sample, from the record alone."""
    bases = {name: script.from_json(base) for name, base in record["bases"].items()}
    return [script.mutate(bases[row["base"]], row["kind"], row["args"]) for row in record["samples"]]


def test_the_record_is_well_formed(record: Json) -> None:
    assert record["engine"] == "sglang 0.5.14"
    assert RECORD.stat().st_size < 1_000_000
    assert len(record["samples"]) >= 240
    kinds = Counter(row["kind"] for row in record["samples"])
    assert set(kinds) == KINDS
    for row in record["samples"]:
        assert set(row["engine"]) <= ANSWERS | {"reads"}, row["words"]
        assert "error" not in row["engine"] or len(row["engine"]) == 1, row["words"]
    for name in record["bases"]:
        mutated = [row for row in record["samples"] if row["base"] == name and row["kind"] != "none"]
        assert len(mutated) >= 20, name


def test_the_seed_gives_the_same_sample(script: ModuleType, record: Json) -> None:
    assert {name: script.as_json(draft) for name, draft in script.BASES.items()} == {
        name: {key: base[key] for key in ("family", "config", "tensors")}
        for name, base in record["bases"].items()
    }
    again = [(each.base, each.kind, each.args, each.words) for each in script.samples(record["seed"])]
    assert again == [(row["base"], row["kind"], row["args"], row["words"]) for row in record["samples"]]


def test_every_base_loads_and_fills_what_a_draft_needs(record: Json) -> None:
    """The control: without a mutation, nothing is missing, and what is ignored is known."""
    for row in record["samples"]:
        if row["kind"] == "none":
            foreign = row["base"].endswith("as DFlashDraftModel")
            assert set(row["engine"]) <= {"ignored"}, row
            assert foreign or set(row["engine"].get("ignored", [])) <= {"t2d"}, row


def test_the_verifier_is_silent_on_the_bases(script: ModuleType, record: Json, tmp_path: Path) -> None:
    """The control of the next test: without a mutation, no finding."""
    silent = {
        name
        for number, (name, base) in enumerate(record["bases"].items())
        if _silent(script, script.from_json(base), tmp_path / str(number))
    }
    assert silent == set(record["bases"]) - REFUSED


def test_the_verifier_sees_what_the_engine_swallows(
    script: ModuleType, record: Json, drafts: list[Any], tmp_path: Path
) -> None:
    unseen, used = [], set()
    without = {row["base"]: row["engine"] for row in record["samples"] if row["kind"] == "none"}
    for number, (row, draft) in enumerate(zip(record["samples"], drafts, strict=True)):
        harmed = _harmed(row, without[row["base"]])
        if not harmed or not _silent(script, draft, tmp_path / str(number)):
            continue
        key = row["kind"], _what(row, script.from_json(record["bases"][row["base"]]))
        if key in UNSEEN:
            used.add(key)
        else:
            unseen.append(f"{row['base']}: {row['words']}: {key}: {row['engine']}")
    assert not unseen, f"{len(unseen)} that nobody sees:\n" + "\n".join(unseen)
    assert used == set(UNSEEN), f"seen by now, take them from the list: {set(UNSEEN) - used}"


def _silent(script: ModuleType, draft: Any, folder: Path) -> bool:
    script.write(draft, folder)
    report = verify_source(str(folder)).report
    return not report.findings and report.exit_status == 0


def _harmed(row: Json, base: Json) -> bool:
    """Whether the engine stopped, or served something else than without the mutation. A base under a foreign
    name is harmed as it is; a swap always, though the loader cannot know."""
    engine = row["engine"]
    known = {"t2d"} if row["kind"] == "none" else {"t2d", *base.get("ignored", [])}
    return bool(set(engine.get("ignored", [])) - known or row["kind"] == "swap" or set(engine) - {"ignored"})


def _what(row: Json, base: Any) -> str:
    """The second half of a key of UNSEEN."""
    args: Json = row["args"]
    match row["kind"]:
        case "swap":
            one, other = args["tensors"]
            return "alike" if base.tensors[one] == base.tensors[other] else "different"
        case "config":
            return f"{args['pointer']} {json.dumps(args['value'])}"
        case "null":
            return str(args["pointer"])
        case "none":
            return str(row["base"])
    return str(args.get("tensor", args.get("prefix")))


def test_the_reading_of_the_engine_is_what_the_engine_did(record: Json, drafts: list[Any]) -> None:
    """zoo.engines.readings, a prediction from source, against the run."""
    wrong, covered = [], 0
    for row, draft in zip(record["samples"], drafts, strict=True):
        tensors = {name: (spec.dtype, spec.shape) for name, spec in draft.tensors.items()}
        predicted = reading_of("sglang", "0.5.14", draft.config, tensors)
        covered += predicted.covered
        difference = _difference(
            predicted, row["engine"], record["bases"][row["base"]]["reads"], set(tensors)
        )
        if difference:
            wrong.append(f"{row['base']}: {row['words']}: {difference}")
    assert not wrong, f"{len(wrong)} of {len(drafts)}:\n" + "\n".join(wrong)
    assert covered >= len(drafts) - 5  # nobody has read what it makes of a quantized draft


def _difference(predicted: EngineReading, engine: Json, reads: Json, names: set[str]) -> str:
    """What the prediction says otherwise than the run; "" where they agree or nothing is predicted."""
    if not predicted.covered:
        return ""
    if bool(predicted.refusals) != ("error" in engine):
        return f"predicted {[each.reason for each in predicted.refusals]}, was {engine}"
    if "error" in engine:
        return ""
    ignored = set(engine.get("ignored", []))
    lost = {name for name in names if predicted.fates[name] in (Fate.IGNORED, Fate.SKIPPED)}
    used = {name for name in names if predicted.fates[name] is Fate.READ}
    if not lost <= ignored or used & ignored:
        return f"ignored {sorted(lost)}, was {sorted(ignored)}"
    unfilled = (Missing.RANDOM, Missing.UNUSED)
    random = {_parameter(name) for name, held in predicted.missing.items() if held in unfilled}
    untouched = {_parameter(name) for name in engine.get("untouched", []) + engine.get("partly", [])}
    if random != untouched:
        return f"missing {sorted(random)}, was {sorted(untouched)}"
    cut = {name for name in names if any(note.startswith(f"{name} is ") for note in predicted.notes)}
    if not set(engine.get("cut", {})) <= cut:
        return f"cut {sorted(cut)}, was {sorted(engine.get('cut', {}))}"
    held = engine.get("reads", {}).get("dflash", reads.get("dflash"))
    if held is None:
        return ""
    assert predicted.layer_ids is not None
    ours = (predicted.block_size, list(predicted.layer_ids.after or ()))
    theirs = (held["block_size"], held["target_layer_ids"])
    return "" if ours == theirs else f"reads {ours}, was {theirs}"


def _parameter(name: str) -> str:
    """A parameter, or the tensor of a file that belongs into it, under one name."""
    name = re.sub(r"^(model\.)?(midlayer\.|layers\.0\.)", "layers.0.", name).removeprefix("model.")
    name = re.sub(r"\.(q|k|v)_proj\.", ".qkv_proj.", name)
    name = re.sub(r"\.(gate|up)_proj\.", ".gate_up_proj.", name)
    return re.sub(r"\.(q_a_proj|kv_a_proj_with_mqa)\.", ".fused_qkv_a_proj_with_mqa.", name)
