"""Compare the reference forward passes of zoo/replay with other people's implementations, on random weights.

Builds tiny models of whatever of the packages below is installed in the running interpreter (CPU, float32),
gives their weights and a random context to ``zoo.replay.reference``, and compares the states from which the
head reads every proposal, at several anchors. For EAGLE3 the other side runs its layer over the whole chain
again for every token; the tokens must be the same as well. Prints one row of a markdown table per case. Exit
status 1 if a state differs by more than 1e-5 or a token differs. docs/replay.md has the result and how to
install the packages.

    python scripts/check_reference.py [PACKAGE ...]
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# SpecForge compiles its norm and rotation; the compiled kernels are not what is compared.
os.environ["TORCHDYNAMO_DISABLE"] = "1"
sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
from torch import Tensor

from zoo.replay.reference import reference
from zoo.replay.reference.dflash import DFlash
from zoo.replay.reference.eagle3 import Eagle3

Config = Mapping[str, Any]
LIMIT = 1e-5
TOKENS, VOCAB, STEPS = 90, 96, 5
ANCHORS = torch.tensor([1, 2, 17, 40, 63, 89])

LLAMA = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
}
BLOCK = {"target_layer_ids": [1, 4, 6], "mask_token_id": 95}
DFLASH = LLAMA | {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "num_hidden_layers": 3,
    "num_target_layers": 9,
    "block_size": 8,
    "dflash_config": BLOCK,
    "layer_types": ["full_attention"] * 3,
}
# Kimi's keys: factor 64 over 4,096 positions, both mscale keys 1.
YARN = {
    "rope_type": "yarn",
    "factor": 64.0,
    "original_max_position_embeddings": 64,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
SLIDING = {
    "use_sliding_window": True,
    "sliding_window": 12,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
}
DFLASH_CASES: Mapping[str, Config] = {
    "as z-lab writes it": {},
    "block size in dflash_config": {"block_size": None, "dflash_config": BLOCK | {"block_size": 5}},
    "rope_parameters": {"rope_theta": None, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}},
    "YaRN": {"rope_scaling": YARN},
    "YaRN, mscale = mscale_all_dim": {"rope_scaling": YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}},
    "YaRN, mscale and mscale_all_dim differ": {"rope_scaling": YARN | {"mscale": 1.0, "mscale_all_dim": 0.5}},
    "YaRN, attention_factor, betas": {
        "rope_scaling": YARN | {"attention_factor": 1.3, "beta_fast": 8.0, "beta_slow": 2.0}
    },
    "YaRN in rope_parameters": {"rope_theta": None, "rope_parameters": YARN | {"rope_theta": 5e4}},
    "linear": {"rope_scaling": {"type": "linear", "factor": 4.0}},
    "llama3": {"rope_scaling": LLAMA3},
    "sliding windows": SLIDING,
    "sliding windows, not causal": SLIDING | {"is_causal": False},
    "causal": {"is_causal": True},
    "attention biases": {"attention_bias": True},
}
EAGLE3 = LLAMA | {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_act": "silu",
    "num_hidden_layers": 1,
    "draft_vocab_size": 24,
    "pretraining_tp": 1,
    "pad_token_id": 0,
    "attention_bias": False,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 4, 6]},
}
FORGE_CASES: Mapping[str, Config] = {
    "as SpecForge writes it": {},
    "fc_norm (EAGLE3.1)": {"fc_norm": True},
    "YaRN of DeepSeek": {"rope_scaling": YARN | {"mscale": 0.707, "mscale_all_dim": 0.707}},
    "llama3": {"rope_scaling": LLAMA3},
}
SPECULATORS_CASES: Mapping[str, Config] = {
    "plain": {},
    "norm_before_residual": {"norm_before_residual": True},
    "norm_output": {"norm_output": True},
    "fc_norm, norm_output": {"fc_norm": True, "norm_output": True},
    "norm_before_fc, norm_before_residual": {"norm_before_fc": True, "norm_before_residual": True},
    "YaRN": {"rope_scaling": YARN},
}


@dataclass(frozen=True)
class Inputs:
    """A random conversation and the ends of a target: context [n, 3*H], tokens [n], tables [V, H]."""

    context: Tensor
    tokens: Tensor
    embed: Tensor
    head: Tensor


def inputs(hidden: int) -> Inputs:
    made = torch.Generator().manual_seed(1)
    return Inputs(
        torch.randn(TOKENS, 3 * hidden, generator=made),
        torch.randint(0, VOCAB, (TOKENS,), generator=made),
        torch.randn(VOCAB, hidden, generator=made),
        torch.randn(VOCAB, hidden, generator=made),
    )


def randomised(model: Any) -> Any:
    """Weights five times as large as new ones, so that attention is not flat, and norms that are not 1.

    With larger ones still, a chain of EAGLE3 amplifies the rounding of its first pass from step to step.
    """
    made = torch.Generator().manual_seed(2)
    for parameter in model.parameters():
        normal = torch.randn(parameter.shape, generator=made)
        parameter.data = 1 + 0.3 * normal if parameter.dim() == 1 else 0.1 * normal
    return model.eval()


def without_nulls(config: Config) -> dict[str, Any]:
    return {key: value for key, value in config.items() if value is not None}


def dflash(config: Config) -> float:
    """The worst difference from ``dflash.model.DFlashDraftModel``, asked at each anchor on its own."""
    kind = importlib.import_module("dflash.model").DFlashDraftModel
    given = inputs(int(config["hidden_size"]))
    model = randomised(kind(kind.config_class(**config)))
    draft = reference(config, model.state_dict())
    assert isinstance(draft, DFlash)
    found = draft.block_states(given.context, ANCHORS, given.tokens[ANCHORS], given.embed, batch=4)
    worst = 0.0
    for row, anchor in enumerate(ANCHORS.tolist()):
        block = torch.full((model.block_size,), int(model.mask_token_id))
        block[0] = given.tokens[anchor]
        theirs = model(
            position_ids=torch.arange(anchor + model.block_size)[None],
            noise_embedding=given.embed[block][None],
            target_hidden=given.context[None, :anchor],
        )
        worst = max(worst, float((theirs[0, 1:] - found[row]).abs().max()))
    return worst


# Their side of a chain: (embeddings [1, R, H], states [1, R, H]) -> states [1, R, H] before the last norm.
Pass = Callable[[Tensor, Tensor], Tensor]


def chains(
    config: Config, model: Any, fuse: Callable[[Tensor], Tensor], layer: Pass, feed_normed: bool
) -> float:
    """The worst difference from a model of EAGLE3 that runs ``layer`` over all pairs again for each token."""
    given = inputs(int(config["hidden_size"]))
    offsets = torch.arange(24) * 3 + 1
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()} | {"d2t": offsets}
    weights = {name: tensor for name, tensor in weights.items() if name != "embed_tokens.weight"}
    draft = reference(config, weights, steps=STEPS)
    assert isinstance(draft, Eagle3)
    arguments = (given.context, given.tokens, ANCHORS, given.embed, given.head)
    ours = list(draft.chains(*arguments, batch=4))
    proposed, states = torch.cat([ids for ids, _ in ours]), torch.cat([each for _, each in ours])
    worst = 0.0
    for row, anchor in enumerate(ANCHORS.tolist()):
        tokens = given.tokens[1 : anchor + 1].tolist()
        inner = fuse(given.context[None, :anchor])
        for step in range(STEPS):
            out = layer(given.embed[torch.tensor(tokens)][None], inner)[:, -1:]
            normed = model.norm(out)
            worst = max(worst, float((normed[0, 0] - states[row, step]).abs().max()))
            choice = int(model.lm_head(normed).argmax())
            tokens.append(choice + int(offsets[choice]))
            if tokens[-1] != int(proposed[row, step]):
                return float("inf")
            inner = torch.cat((inner, normed if feed_normed else out), dim=1)
    return worst


def causal(rows: int) -> Tensor:
    """[1, 1, R, R], 0 where a row may look and the lowest float elsewhere."""
    return torch.full((rows, rows), torch.finfo(torch.float32).min).triu(1)[None, None]


def specforge(config: Config) -> float:
    kind = importlib.import_module("specforge.modeling.draft.llama3_eagle").LlamaForCausalLMEagle3
    model = randomised(kind(kind.config_class(**config)))

    def layer(embedded: Tensor, states: Tensor) -> Tensor:
        rows = embedded.shape[1]
        out: Tensor = model.midlayer(
            input_emb=embedded,
            hidden_states=states,
            cache_hidden=[[], []],
            attention_mask=causal(rows),
            position_ids=torch.arange(rows)[None],
        )
        return out

    return chains(config, model, model.project_hidden_states, layer, feed_normed=False)


def speculators(config: Config) -> float:
    core = importlib.import_module("speculators.models.eagle3.core")
    inner = {key: value for key, value in config.items() if key in LLAMA or key == "rope_scaling"}
    own = ("draft_vocab_size", "norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")
    nested = {key: config[key] for key in own if key in config} | {
        "eagle_aux_hidden_state_layer_ids": [2, 5, 7],
        "transformer_layer_config": inner | {"model_type": "llama", "num_hidden_layers": 1},
        "speculators_config": {
            "algorithm": "eagle3",
            "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": STEPS}],
            "default_proposal_method": "greedy",
            "verifier": {"name_or_path": None, "architectures": ["LlamaForCausalLM"]},
        },
    }
    made = core.Eagle3SpeculatorConfig(**nested)
    made.transformer_layer_config._attn_implementation = "eager"
    model = randomised(core.Eagle3DraftModel(made))

    def fuse(states: Tensor) -> Tensor:
        if model.input_norm is not None:
            states = model.input_norm(states)
        if model.fc_norm is not None:
            parts = states.chunk(len(model.fc_norm), dim=-1)
            states = torch.cat([norm(part) for norm, part in zip(model.fc_norm, parts, strict=True)], dim=-1)
        out: Tensor = model.fc(states)
        return out

    def layer(embedded: Tensor, states: Tensor) -> Tensor:
        positions = torch.arange(embedded.shape[1])[None] + 1  # as they count
        x = torch.cat((embedded, states), dim=-1)
        out: Tensor = model.layers[0](
            x,
            attention_mask=causal(embedded.shape[1]),
            position_ids=positions,
            position_embeddings=model.rotary_emb(x, positions),
        )
        return out

    return chains(config, model, fuse, layer, feed_normed=bool(config.get("norm_output")))


PACKAGES: Mapping[str, tuple[Callable[[Config], float], Config, Mapping[str, Config]]] = {
    "dflash": (dflash, DFLASH, DFLASH_CASES),
    "specforge": (specforge, EAGLE3, FORGE_CASES),
    "speculators": (speculators, EAGLE3, SPECULATORS_CASES),
}


@torch.inference_mode()
def main(names: list[str]) -> int:
    torch.set_num_threads(1)
    failed, compared = 0, 0
    print("| package | case | largest difference |")
    print("|---|---|---|")
    for name in names or PACKAGES:
        run, base, cases = PACKAGES[name]
        try:
            label = f"{name} {version(name)}"
        except PackageNotFoundError:
            print(f"{name}: not installed, not compared", file=sys.stderr)
            continue
        for case, changes in cases.items():
            worst = run(deepcopy(without_nulls({**base, **changes})))  # transformers writes into it
            failed += not worst <= LIMIT
            compared += 1
            print(f"| {label} | {case} | {worst:.1e} |", flush=True)
    print(f"{compared} compared, {failed} over {LIMIT:g}", file=sys.stderr)
    return 1 if failed or not compared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
