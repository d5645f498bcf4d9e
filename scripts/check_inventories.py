"""Compare the inventories of zoo/drafts with what other people's implementations allocate.

Builds tiny models of whatever of the packages below is installed in the running interpreter (CPU is enough)
and compares names, shapes and dtypes of their tensors with ``inventory`` plus ``optional`` for the same
config. Prints one row of a markdown table per model. Exit status 1 if a model differs. docs/inventories.md
has the result and how to install the packages.

    python scripts/check_inventories.py [PACKAGE ...]
"""

from __future__ import annotations

import importlib
import sys
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
HEADS: Mapping[str, Config] = {
    "dflash": {},
    "dflash2": {"conv_kernel_size": 2, "conv_group_size": 8, "selector_rank": 5, "selector_top_k": 4},
    "domino": {"projector_type": "domino", "gru_hidden_dim": 10, "emb_dim": 6, "pure_draft_prefix_len": 1},
    "dspark": {"projector_type": "dspark", "markov_rank": 5, "markov_head_type": "vanilla"}
    | {"enable_confidence_head": True, "confidence_head_with_markov": True},
}


@dataclass(frozen=True)
class Case:
    """One model: our family, their class as ``module:name``, the config, and what they call differently."""

    family: str
    location: str
    config: Config
    note: str
    renames: tuple[tuple[str, str], ...] = ()

    @property
    def package(self) -> str:
        return self.location.partition(".")[0]


def diffusion(head: str, **more: Any) -> Config:
    """The config of a DFlash-family draft with this head."""
    inner = {"target_layer_ids": [1, 4], "mask_token_id": 95, "block_size": 4, **HEADS[head], **more}
    return {**QWEN, "dflash_config": inner}


def flat(model: Any, config: Config) -> Any:
    return model(model.config_class(**config))


def nested(model: Any, config: Config) -> Any:
    """speculators: the layer in ``transformer_layer_config``, the draft's own keys around it."""
    from transformers import LlamaConfig, Qwen3Config

    theirs = importlib.import_module("speculators")
    greedy = importlib.import_module("speculators.proposals.greedy")
    own = dict(config.get("dflash_config", {}))
    own["aux_hidden_state_layer_ids"] = own.pop("target_layer_ids", None)
    own |= {key: config[key] for key in ("fc_norm", "draft_vocab_size") if key in config}
    allowed = {key: value for key, value in own.items() if key in model.config_class.model_fields}
    layer = (Qwen3Config if "dflash_config" in config else LlamaConfig)(**config)
    layer._attn_implementation = "eager"
    return model(
        model.config_class(
            transformer_layer_config=layer,
            **{"draft_vocab_size": config["vocab_size"], **allowed},
            speculators_config=theirs.SpeculatorsConfig(
                algorithm=model.config_class.model_fields["speculators_model_type"].default,
                proposal_methods=[greedy.GreedyTokenProposalConfig(speculative_tokens=3)],
                default_proposal_method="greedy",
                verifier=theirs.VerifierConfig(name_or_path=None, architectures=["LlamaForCausalLM"]),
            ),
        )
    )


ZLAB, FORGE, SPECULATORS = "dflash.model", "specforge.modeling.draft", "speculators.models"
EAGLE3 = LLAMA | {"draft_vocab_size": 24}
PEAGLE = EAGLE3 | {"num_hidden_layers": 4}
BIASED = {**diffusion("dflash"), "attention_bias": True}
CODEBOOKS = (("_codebook.weight", "_codebook"),)
MIDLAYER = (("layers.0.", "midlayer."),)
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
    Case("dflash", f"{SPECULATORS}.dflash:DFlashDraftModel", diffusion("dflash"), "3 layers"),
    Case("dflash2", f"{SPECULATORS}.dflash2:DFlash2DraftModel", diffusion("dflash2"), "3 layers"),
    Case("dspark", f"{SPECULATORS}.dspark:DSparkDraftModel", diffusion("dspark"), "3 layers"),
    Case("eagle3", f"{SPECULATORS}.eagle3:Eagle3DraftModel", EAGLE3, "draft vocabulary 24 of 96", MIDLAYER),
    Case("eagle3", f"{SPECULATORS}.eagle3:Eagle3DraftModel", EAGLE3 | {"fc_norm": True}, "fc_norm", MIDLAYER),
    Case("peagle", f"{SPECULATORS}.peagle:PEagleDraftModel", PEAGLE, "4 layers"),
)


def tensors(case: Case) -> Found:
    """What the package's model would save: its state_dict without what it declares not to save."""
    import torch

    module, _, name = case.location.partition(":")
    build = nested if case.package == "speculators" else flat
    model = build(getattr(importlib.import_module(module), name), case.config)
    model = model.to(getattr(torch, DTYPE))
    unsaved = set(getattr(model, "_keys_to_ignore_on_save", None) or ())
    spelled = HEADER_DTYPE | {"int64": "I64", "bool": "BOOL"}
    found: Found = {}
    for key, tensor in model.state_dict().items():
        if key not in unsaved:
            for theirs, ours in case.renames:
                key = key.replace(theirs, ours)
            found[key] = (spelled[str(tensor.dtype).removeprefix("torch.")], tuple(tensor.shape))
    return found


def compare(case: Case, found: Found) -> tuple[bool, str]:
    """Whether ``found`` is our inventory, with or without the optional tensors, and the verdict in words."""
    family = next(family for family in FAMILIES if family.name == case.family)
    must, may = (
        {name: (spec.dtype, spec.shape) for name, spec in part(case.config, DTYPE).items()}
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
    extra = sorted(found.keys() & may.keys())
    return True, "equal" + renamed + (f", with optional {', '.join(extra)}" if extra else "")


def row(case: Case) -> tuple[bool, str]:
    """One case run: whether it found no difference, and its row of the table. Not run is no difference."""
    try:
        label = f"{case.package} {version(case.package)}"
        found = tensors(case)
    except PackageNotFoundError:
        label, found = case.package, {}
        fine, verdict = True, "not run: not installed"
    except Exception as error:
        fine, verdict, found = True, f"not run: {type(error).__name__}: {str(error).splitlines()[0]}", {}
    else:
        fine, verdict = compare(case, found)
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
