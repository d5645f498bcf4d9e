"""Hazards of serving: requests that are refused, caches, quantization, and what hardware cannot run."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from zoo.engines.flags import has_flag
from zoo.engines.hardware import is_not_nvidia
from zoo.engines.hazards.model import Hazard, profile_argv
from zoo.engines.sglang import (
    BLOCK_ALGORITHMS,
    BLOCK_FAMILIES,
    MLA_BACKENDS,
    algorithm,
    attention_backends,
    draft_attention_backend,
)
from zoo.recipe.model import Profile, Recipe


def _fa4_draft(recipe: Recipe, profile: Profile) -> bool:
    return draft_attention_backend(profile_argv(recipe, profile)) == "fa4"


def _fa4_block(argv: list[str]) -> bool:
    return _block(argv) and draft_attention_backend(argv) == "fa4"


def _block(argv: list[str]) -> bool:
    return algorithm(argv) in BLOCK_ALGORITHMS


def _quantized_target(recipe: Recipe, profile: Profile) -> bool:
    return bool(recipe.target.quantization) and "quantization_config" not in recipe.draft.config


def _block_family(recipe: Recipe, profile: Profile) -> bool:
    return recipe.checkpoint.family in BLOCK_FAMILIES


def _no_cuda(recipe: Recipe, profile: Profile) -> bool:
    return recipe.checkpoint.family in BLOCK_FAMILIES and is_not_nvidia(profile.gpu)


def _no_limit(recipe: Recipe, profile: Profile) -> bool:
    return not has_flag(profile_argv(recipe, profile), "--max-running-requests")


def _no_limit_of_a_draft(argv: list[str]) -> bool:
    return bool(algorithm(argv)) and not has_flag(argv, "--max-running-requests")


def _blackwell_backend(recipe: Recipe, profile: Profile) -> bool:
    return _mla(profile_argv(recipe, profile))


def _mla(argv: list[str]) -> bool:
    return any(backend in MLA_BACKENDS for backend in attention_backends(argv))


FA4_KV = Hazard(
    code="E002",
    name="fa4-needs-bf16-kv",
    engine="sglang",
    versions=SpecifierSet("<0.5.16"),
    applies=_fa4_draft,
    by_command=_fa4_block,
    card=(
        "A bf16 KV cache is required, since the draft worker inherits the global KV dtype and its fa4 "
        "kernel asserts bf16 q/k/v, which also rules out the fp8-only `tokenspeed_mla` target "
        "backend: use `trtllm_mla`."
    ),
    advice="pass --kv-cache-dtype bf16",
    source="sgl-project/sglang#29218",
)
QUANTIZATION = Hazard(
    code="E003",
    name="quantization-inherited",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_quantized_target,
    card=(
        "Do not pass `--quantization`: the draft worker copies the target's server args, and an "
        "explicit `modelopt_fp4` makes SGLang quantize the bf16 draft on the fly; left unset, the "
        "target detects NVFP4 from its own `hf_quant_config.json`. If the flag cannot be avoided, add "
        "`--speculative-draft-model-quantization unquant` (read in the source, not run)."
    ),
    advice="drop --quantization, or add --speculative-draft-model-quantization unquant",
    source="server_args.py of sglang 0.5.14 and 0.5.23",
)
# Refused up to 0.5.16, served since 0.5.17 (validate_dflash_request of both).
GRAMMAR = Hazard(
    code="E008",
    name="grammar-refused",
    engine="sglang",
    versions=SpecifierSet("<0.5.17"),
    applies=_block_family,
    by_command=_block,
    card=(
        "Requests that need a grammar are refused (HTTP 400): `json_schema`, `regex`, `ebnf`, and tool calls "
        "with `tool_choice: required`, a named function or `strict`. Other tool calls are served."
    ),
    advice="send such requests to a server without the draft, or serve with SGLang 0.5.17 or later",
    source="speculative/dflash_utils.py of sglang 0.5.14, 0.5.16 and 0.5.17",
)
# Refused up to 0.5.17, served since 0.5.18 (the same function).
LOGPROBS = Hazard(
    code="E009",
    name="logprobs-refused",
    engine="sglang",
    versions=SpecifierSet("<0.5.18"),
    applies=_block_family,
    by_command=_block,
    card="Requests for logprobs (`logprobs`, `return_logprob`) are refused (HTTP 400).",
    advice="send such requests to a server without the draft, or serve with SGLang 0.5.18 or later",
    source="speculative/dflash_utils.py of sglang 0.5.14, 0.5.17 and 0.5.18",
)
# 0.5.17 alone counts its ROCm kernels as enough.
GREEDY = Hazard(
    code="E013",
    name="greedy-fallback",
    engine="sglang",
    versions=SpecifierSet("!=0.5.17"),
    applies=_no_cuda,
    card=(
        "Sampling verification needs a CUDA kernel. Without it, as on this hardware, SGLang verifies "
        "greedily after one warning: above temperature 0 the output is not distributed as the target's."
    ),
    advice="serve greedy requests only (temperature 0), or on NVIDIA GPUs",
    source="speculative/{dflash_utils,dflash_worker_v2}.py of sglang 0.5.14, 0.5.17, 0.5.18 and 0.5.23",
)
REQUEST_LIMIT = Hazard(
    code="E017",
    name="running-requests-capped",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_no_limit,
    by_command=_no_limit_of_a_draft,
    card="At most 48 requests run at once, unless `--max-running-requests` says otherwise.",
    advice="pass --max-running-requests",
    source="arg_groups/speculative_hook.py of sglang 0.5.14 and 0.5.23",
)
BLACKWELL = Hazard(
    code="E018",
    name="blackwell-only",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_blackwell_backend,
    by_command=_mla,
    card=(
        "The MLA backends `trtllm_mla`, `tokenspeed_mla` and `cutedsl_mla` run on Blackwell GPUs only; on "
        "others the server refuses to start. There, leave `--attention-backend` out: Hopper takes `fa3`."
    ),
    advice="serve on Blackwell, or drop --attention-backend",
    source="server_args.py of sglang 0.5.14, arg_groups/overrides.py of 0.5.23",
)
