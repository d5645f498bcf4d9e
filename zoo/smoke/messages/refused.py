"""What an engine refuses: a draft or a command that it cannot serve. The most particular message first."""

from __future__ import annotations

from zoo.smoke.messages.model import VERIFY, Known

REFUSED = (
    Known(
        "fc-width",
        r"DFLASH fc\.weight shape mismatch",
        "fc.weight of the draft has another width than its config implies",
        "target_layer_ids of config.json and the weights are of two trainings; " + VERIFY,
        "sglang 0.5.14 and 0.5.23, models/dflash.py; seen",
        "draft",
    ),
    Known(
        "feature-width",
        r"DFLASH target_hidden feature dim mismatch",
        "the states of the target are not as wide as the draft expects them",
        "hidden_size of the draft must be that of the target, and target_layer_ids those of the training; "
        + VERIFY,
        "sglang 0.5.14 and 0.5.23, models/dflash.py",
        "draft",
    ),
    Known(
        "layer-out-of-range",
        r"DFLASH target_layer_ids contains an out-of-range layer id",
        "an aux layer of the draft is no layer of the target",
        "check target_layer_ids against the target; 0.5.14 takes the draft's own depth "
        "where num_target_layers is missing; " + VERIFY,
        "sglang 0.5.14 and 0.5.23, speculative/dflash_utils.py; seen",
        "draft",
    ),
    Known(
        "mask-outside-vocabulary",
        r"DFLASH mask_token_id is outside the target vocab size",
        "the mask token of the draft is outside the vocabulary of the target",
        "set dflash_config.mask_token_id to the id that the draft was trained with; " + VERIFY,
        "sglang 0.5.14 and 0.5.23, speculative/dflash_worker_v2.py; seen",
        "draft",
    ),
    Known(
        "mask-text-against-id",
        r"DFLASH config mismatch: dflash_config\.mask_token_id conflicts with tokenizer vocab id",
        "mask_token of the draft's config is another token of the target than its mask_token_id",
        "keep the one that the draft was trained with in dflash_config, and remove the other; " + VERIFY,
        "sglang 0.5.14 and 0.5.23, speculative/dflash_worker_v2.py; seen",
        "draft",
    ),
    Known(
        "mask-unresolved",
        r"DFLASH requires resolving a mask token id, but it could not be resolved",
        "the draft's config gives no mask token that the engine can resolve",
        "write dflash_config.mask_token_id, the number, into config.json",
        "sglang 0.5.14 and 0.5.23, speculative/dflash_worker_v2.py",
        "draft",
    ),
    Known(
        "target-captures-nothing",
        r"does not implement set_dflash_layers_to_capture|implements neither set_dspark_layers_to_capture",
        "this engine version cannot run DFLASH on the architecture of the target",
        "take an engine version whose model file has set_dflash_layers_to_capture",
        "sglang 0.5.14, model_executor/model_runner.py; 0.5.23, attention_backend_setup.py",
        "command",
    ),
    Known(
        "target-captures-no-eagle3",
        r"does not implement set_eagle3_layers_to_capture|"
        r"^AttributeError: .*has no attribute 'set_eagle3_layers_to_capture'",
        "this engine version cannot run EAGLE3 on the architecture of the target",
        "take an engine version whose model file has set_eagle3_layers_to_capture",
        "sglang 0.5.23, model_executor/model_runner_components/attention_backend_setup.py",
        "command",
    ),
    Known(
        "unknown-algorithm",
        r"Unknown speculative algorithm name",
        "this engine version has no such speculative algorithm",
        "0.5.14 has DFLASH, EAGLE, EAGLE3, STANDALONE, NGRAM and FROZEN_KV_MTP; DSPARK needs a newer engine",
        "sglang 0.5.14 and 0.5.23, speculative/spec_info.py",
        "command",
    ),
    Known(
        "unknown-architecture",
        r"Model architectures .{1,200} are not supported for now",
        "this engine version does not know the architecture of a model",
        "check architectures of config.json of the draft (SGLang reads DFlashDraftModel) and of the target; "
        + VERIFY,
        "sglang 0.5.14 and 0.5.23, models/registry.py; vllm 0.33.0, model_executor/models/registry.py",
        "command",
    ),
    Known(
        "tensor-shape",
        r"Attempted to load weight \(torch\.Size|start \(\d+\) \+ length \(\d+\) exceeds dimension size",
        "a tensor of the weights has another shape than the config implies",
        VERIFY,
        "sglang 0.5.14, model_loader/weight_utils.py; torch 2.11 (narrow); seen",
        "draft",
    ),
    Known(
        "modelopt-without-config",
        r"Cannot find the config file for modelopt",
        "the draft inherited the target's modelopt quantization and has no config of it",
        "leave --quantization out (the engine finds NVFP4 in the target itself), or add "
        "--speculative-draft-model-quantization unquant",
        "sglang 0.5.14 and 0.5.23, model_loader/weight_utils.py",
        "command",
    ),
    Known(
        "modelopt-missing",
        r"NVIDIA Model Optimizer \(modelopt\) library not found",
        "the draft inherited the target's modelopt quantization, and the engine tried to quantize it",
        "leave --quantization out, or add --speculative-draft-model-quantization unquant",
        "sglang 0.5.14, model_loader/loader.py",
        "command",
    ),
    Known(
        "fa4-missing",
        r"FlashAttention(-4)? CUTE is not available|^(ModuleNotFound|Import)Error: .*flash_attn",
        "the attention backend fa4 needs the package flash-attn-4, which is not installed",
        "install it beside the engine, or serve with --speculative-draft-attention-backend fa3 (Hopper), "
        "flashinfer or triton",
        "sglang 0.5.14, jit_kernel/flash_attention_v4.py; 0.5.23, flash_attention_v4_sm120.py",
        "machine",
    ),
    Known(
        "blackwell-only",
        r"backend (for (prefill|decode) )?is only supported on (Hopper \(SM90\), )?Blackwell",
        "an attention backend of the command does not run on this GPU",
        "serve on the hardware that the profile names, or with its backend for this GPU",
        "sglang 0.5.14, server_args.py",
        "command",
    ),
    Known(
        "dflash-with-dp-attention",
        r"DFLASH speculative decoding does not support dp attention|"
        r"DFLASH speculative decoding only supports pp_size == 1",
        "DFLASH does not run with this kind of parallelism",
        "leave --enable-dp-attention and --pp-size out",
        "sglang 0.5.14, arg_groups/speculative_hook.py",
        "command",
    ),
    Known(
        "block-size-stated-twice",
        r"Both --speculative-num-draft-tokens and --speculative-dflash-block-size are set",
        "two flags state different block sizes",
        "give neither: config.json of the draft states it",
        "sglang 0.5.14 and 0.5.23, arg_groups/speculative_hook.py",
        "command",
    ),
    Known(
        "wrong-flag",
        r"\berror: (unrecognized arguments|argument .{1,200}: (invalid choice|invalid \w+ value|expected )|"
        r"the following arguments are required|ambiguous option)",
        "the engine refuses an argument of the command",
        "run zoo verify NAME, or zoo launch --check FILE: they know the flags of this version",
        "CPython, argparse.py",
        "command",
    ),
)
