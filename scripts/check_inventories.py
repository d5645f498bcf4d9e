"""Compare the inventories of zoo/drafts with what other people's implementations allocate.

Builds tiny models of whatever of the packages below is installed in the running interpreter (CPU is enough)
and compares names, shapes and dtypes of their tensors with ``inventory`` plus ``optional`` for the same
config. speculators saves its model, and the file is compared, also for the config.json that it wrote. Prints
one row of a markdown table per model. Exit status 1 if a model differs. docs/inventories.md has the result
and how to install the packages.

    python scripts/check_inventories.py [PACKAGE ...]
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from zoo.drafts import HEADER_DTYPE
from zoo.drafts.family import FAMILIES

Config = Mapping[str, Any]
Found = dict[str, tuple[str, tuple[int, ...]]]
DTYPE = "bfloat16"

LLAMA = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "num_hidden_layers": 1,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
}
QWEN = LLAMA | {
    "num_hidden_layers": 3,
    "num_target_layers": 9,
    "block_size": 4,
    "layer_types": ["full_attention"] * 3,
}
LLAMA_LAYER = LLAMA | {"model_type": "llama"}
QWEN_LAYER = LLAMA | {"model_type": "qwen3", "num_hidden_layers": 3}
HEADS: Mapping[str, Config] = {
    "dflash": {},
    "dflash2": {"conv_kernel_size": 2, "conv_group_size": 8, "selector_rank": 5, "selector_top_k": 4},
    "domino": {"projector_type": "domino", "gru_hidden_dim": 10, "emb_dim": 6, "pure_draft_prefix_len": 1},
    "dspark": {"projector_type": "dspark", "markov_rank": 5, "markov_head_type": "vanilla"}
    | {"enable_confidence_head": True, "confidence_head_with_markov": True},
}


@dataclass(frozen=True)
class Case:
    """One model: our family, their class as ``module:name``, the config, and what they call differently or
    hold only until they have loaded the verifier."""

    family: str
    location: str
    config: Config
    note: str
    renames: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        return self.location.partition(".")[0]


def diffusion(head: str, **more: Any) -> Config:
    """The config of a DFlash-family draft with this head."""
    inner = {"target_layer_ids": [1, 4], "mask_token_id": 95, "block_size": 4, **HEADS[head], **more}
    return {**QWEN, "dflash_config": inner}


def flat(model: Any, config: Config) -> Any:
    return model(model.config_class(**config))


def nested(kind: str, layer: Config, **own: Any) -> Config:
    """The config of a draft of speculators: the layer in its block, the draft's own keys around it."""
    verifier = {"name_or_path": None, "architectures": ["LlamaForCausalLM"]}
    methods = [{"proposal_type": "greedy", "speculative_tokens": 3}]
    theirs = {"algorithm": kind, "proposal_methods": methods, "default_proposal_method": "greedy"}
    return {
        "speculators_model_type": kind,
        "speculators_config": {**theirs, "verifier": verifier},
        "transformer_layer_config": layer,
        **own,
    }


def diffusion_nested(head: str, vocabulary: int = 96, **more: Any) -> Config:
    """The config of a DFlash-family draft of speculators, with this head and draft vocabulary."""
    keys = {key: value for key, value in HEADS[head].items() if key != "projector_type"}
    own = {"aux_hidden_state_layer_ids": [2, 5], "mask_token_id": 95, "block_size": 4}
    return nested(head, QWEN_LAYER, draft_vocab_size=vocabulary, **own, **{**keys, **more})


def eagle_nested(kind: str, layer: Config, vocabulary: int = 24, **more: Any) -> Config:
    own = {"eagle_aux_hidden_state_layer_ids": [2, 5, 8, 9], "draft_vocab_size": vocabulary}
    return nested(kind, layer, **own, **more)


ZLAB, FORGE, SPECULATORS = "dflash.model", "specforge.modeling.draft", "speculators.models"
EAGLE3 = LLAMA | {"draft_vocab_size": 24}
PEAGLE = EAGLE3 | {"num_hidden_layers": 4}
BIASED = {**diffusion("dflash"), "attention_bias": True}
CODEBOOKS = (("_codebook.weight", "_codebook"),)
ALONE = {"confidence_head_with_markov": False}
CONFIDENCE: Mapping[str, Config] = {
    "confidence with Markov": {},
    "confidence alone": ALONE,
    "no confidence": {"enable_confidence_head": False},
}
SPARKS: Mapping[str, Config] = {
    f"{kind}, {note}": {"markov_head_type": kind, **switches}
    for kind in ("vanilla", "gated", "rnn")
    for note, switches in CONFIDENCE.items()
} | {"no Markov": {"markov_rank": 0, **ALONE}}
VOCABULARIES = {"whole vocabulary": 96, "draft vocabulary 24 of 96": 24}
SPARK = f"{SPECULATORS}.dspark:DSparkDraftModel"
BIASES: Config = {"attention_bias": True, "mlp_bias": True}
NESTED_EAGLES: tuple[tuple[str, Config, dict[str, Any]], ...] = (
    ("Llama layer, draft vocabulary 24 of 96", LLAMA_LAYER, {}),
    ("Llama layer, whole vocabulary", LLAMA_LAYER, {"vocabulary": 96}),
    ("3 Qwen3 layers", QWEN_LAYER, {}),
    ("4 Llama layers, biases", {**LLAMA_LAYER, **BIASES, "num_hidden_layers": 4}, {}),
    ("fc_norm", LLAMA_LAYER, {"fc_norm": True}),
    ("norm_before_fc", LLAMA_LAYER, {"norm_before_fc": True}),
)
EAGLES: Mapping[str, Config] = {
    "draft vocabulary 24 of 96": {},
    "EAGLE3.1, fc_norm": {"fc_norm": True, "norm_output": True},
    "target hidden 40": {"target_hidden_size": 40},
    "whole vocabulary": {"draft_vocab_size": 96},
}
CASES = (
    Case("dflash", f"{ZLAB}:DFlashDraftModel", diffusion("dflash"), "3 layers"),
    Case("dflash2", f"{ZLAB}:DFlash2DraftModel", diffusion("dflash2"), "3 layers", CODEBOOKS),
    Case("dflash", f"{FORGE}.dflash:DFlashDraftModel", diffusion("dflash"), "3 layers"),
    Case("dflash", f"{FORGE}.dflash:DFlashDraftModel", BIASED, "3 layers, attention biases"),
    *(
        Case("dspark", f"{FORGE}.dspark:DSparkDraftModel", diffusion("dspark", **more), f"3 layers, {note}")
        for note, more in SPARKS.items()
    ),
    Case("domino", f"{FORGE}.domino:DominoDraftModel", diffusion("domino"), "3 layers"),
    *(
        Case("eagle3", f"{FORGE}.llama3_eagle:LlamaForCausalLMEagle3", {**EAGLE3, **more}, note)
        for note, more in EAGLES.items()
    ),
    Case("peagle", f"{FORGE}.peagle:PEagleDraftModel", PEAGLE, "4 layers"),
    Case(
        "peagle", f"{FORGE}.peagle:PEagleDraftModel", PEAGLE | {"target_hidden_size": 40}, "target hidden 40"
    ),
    *(
        Case(kind, f"{SPECULATORS}.{kind}:{name}DraftModel", diffusion_nested(kind, vocabulary), note)
        for kind, name in (("dflash", "DFlash"), ("dflash2", "DFlash2"), ("dspark", "DSpark"))
        for note, vocabulary in VOCABULARIES.items()
        if (kind, vocabulary) != ("dflash2", 24)
    ),
    Case("dspark", SPARK, diffusion_nested("dspark", 24, markov_head_type="gated"), "gated, 24 of 96 tokens"),
    Case("dspark", SPARK, diffusion_nested("dspark", 24, markov_head_type="rnn"), "rnn, 24 of 96 tokens"),
    Case("dspark", SPARK, diffusion_nested("dspark", markov_rank=0, **ALONE), "no Markov"),
    *(
        Case(kind, f"{SPECULATORS}.{kind}:{name}DraftModel", eagle_nested(kind, layer, **more), note)
        for kind, name in (("eagle3", "Eagle3"), ("peagle", "PEagle"))
        for note, layer, more in NESTED_EAGLES
    ),
    *(
        Case(
            "mtp",
            f"{SPECULATORS}.mtp:MTPDraftModel",
            nested("mtp", {**QWEN_LAYER, "model_type": kind, "layer_types": ["full_attention"] * 3}),
            kind,
            dropped=("verifier_lm_head.weight",),
        )
        for kind in ("qwen3", "qwen3_5_text")
    ),
)


def tensors(case: Case) -> tuple[Found, Config]:
    """What the package's model would save, and the config it would save with it: its state_dict and ours or,
    from speculators, the two files."""
    import torch

    module, _, name = case.location.partition(":")
    model = getattr(importlib.import_module(module), name)
    if case.package == "speculators":
        found, config = saved(
            model(model.config_class.from_dict(dict(case.config))).to(getattr(torch, DTYPE))
        )
    else:
        found, config = {}, case.config
        spelled = HEADER_DTYPE | {"int64": "I64", "bool": "BOOL"}
        for key, tensor in flat(model, case.config).to(getattr(torch, DTYPE)).state_dict().items():
            found[key] = (spelled[str(tensor.dtype).removeprefix("torch.")], tuple(tensor.shape))
    for theirs, ours in case.renames:
        found = {key.replace(theirs, ours): spec for key, spec in found.items()}
    return {key: spec for key, spec in found.items() if key not in case.dropped}, config


def saved(model: Any) -> tuple[Found, Config]:
    """The tensors of the file and the config.json that ``model`` writes."""
    from safetensors import safe_open

    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        with safe_open(Path(folder) / "model.safetensors", "pt") as file:
            slices = {key: file.get_slice(key) for key in file.keys()}  # noqa: SIM118
            found = {key: (part.get_dtype(), tuple(part.get_shape())) for key, part in slices.items()}
    return found, config


def compare(case: Case, found: Found, config: Config) -> tuple[bool, str]:
    """Whether ``found`` is our inventory of ``config``, with or without the optional tensors, and the verdict
    in words."""
    family = next(family for family in FAMILIES if family.name == case.family)
    must, may = (
        {name: (spec.dtype, spec.shape) for name, spec in part(config, DTYPE).items()}
        for part in (family.inventory, family.optional)
    )
    wrong = sorted(name for name in found if found[name] != (must | may).get(name))
    missing = sorted(must.keys() - found.keys())
    if wrong or missing:
        return False, "**differs**: " + "; ".join(
            f"{words} {', '.join(f'`{name}`' for name in names)}"
            for words, names in (("unexpected or different", wrong), ("missing", missing))
            if names
        )
    renamed = "".join(f", with `{theirs}` read as `{ours}`" for theirs, ours in case.renames)
    without = "".join(f", without `{name}`" for name in case.dropped)
    extra = sorted(found.keys() & may.keys())
    return True, "equal" + renamed + without + (f", with optional {', '.join(extra)}" if extra else "")


def row(case: Case) -> tuple[bool, str]:
    """One case run: whether it found no difference, and its row of the table. Not run is no difference."""
    try:
        label = f"{case.package} {version(case.package)}"
        found, written = tensors(case)
    except PackageNotFoundError:
        label, found = case.package, {}
        fine, verdict = True, "not run: not installed"
    except Exception as error:
        fine, verdict, found = True, f"not run: {type(error).__name__}: {str(error).splitlines()[0]}", {}
    else:
        fine, verdict = compare(case, found, case.config)
        if fine and written != case.config:
            fine, verdict = compare(case, found, written)
            verdict += ", also from the config.json that it wrote"
    name = case.location.partition(":")[2]
    return fine, f"| {case.family} | {label} | `{name}` | {case.note} | {len(found) or '-'} | {verdict} |"


def main(packages: list[str]) -> int:
    warnings.simplefilter("ignore")
    print("| family | implementation | class | tiny config | tensors | verdict |")
    print("|---|---|---|---|---|---|")
    fine = True
    for case in CASES:
        if not packages or case.package in packages:
            equal, line = row(case)
            fine = fine and equal
            print(line, flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
