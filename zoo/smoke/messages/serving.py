"""What a server logs and goes on: it serves a draft below what it can do, or other text than the target's."""

from __future__ import annotations

from zoo.smoke.messages.model import VERIFY, Known

# What the server goes on after, and serves a draft below what it can do, or other text than the target's.
DEGRADES = (
    Known(
        "block-size-mismatch",
        r"DFLASH block size mismatch: using speculative_num_draft_tokens=",
        "the command states another block size than the draft's config",
        "leave --speculative-num-draft-tokens and --speculative-dflash-block-size out",
        "sglang 0.5.14 and 0.5.23, speculative/dflash_worker_v2.py; seen",
        "command",
        ends_server=False,
    ),
    Known(
        "block-size-guessed",
        r"Failed to infer DFLASH block_size from draft model config|"
        r"speculative_num_draft_tokens is not set; defaulting to \d+ for DFLASH",
        "the engine could not read the block size from the draft's config, and took 16",
        "write block_size into config.json of the draft; " + VERIFY,
        "sglang 0.5.14 and 0.5.23, arg_groups/speculative_hook.py",
        "draft",
        ends_server=False,
    ),
    Known(
        "draft-backend-replaced",
        r"DFLASH draft worker (does not support|only supports attention_backend)|"
        r"DFLASH only enables 'trtllm_mha' when",
        "the engine replaced the attention backend of the draft",
        "name one that it has in --speculative-draft-attention-backend: fa3, fa4, flashinfer, triton",
        "sglang 0.5.14, speculative/dflash_worker_v2.py; 0.5.23, arg_groups/speculative_hook.py",
        "command",
        ends_server=False,
    ),
    Known(
        "target-depth-differs",
        r"raft config num_target_layers=\S+ differs from runtime target num_hidden_layers",
        "the draft was trained for a target of another depth",
        "serve it with its own target; " + VERIFY,
        "sglang 0.5.14, model_executor/model_runner.py; 0.5.23, spec_aux_hidden_state.py",
        "draft",
        ends_server=False,
    ),
    Known(
        "greedy-only",
        r"DFLASH non-greedy verification is unavailable",
        "requests with a temperature are verified greedily: their distribution is not the target's",
        "install the sgl-kernel of this engine version, whose sampling kernel is missing",
        "sglang 0.5.14 and 0.5.23, speculative/dflash_worker_v2.py",
        "machine",
        ends_server=False,
    ),
    Known(
        "draft-model-not-imported",
        r"Ignore import error when loading sglang\.srt\.models\."
        r"(dflash|dspark|llama_eagle3|kimi_k25_eagle3)\b",
        "the engine's own file of the draft's architecture could not be imported",
        "install what the message misses",
        "sglang 0.5.14 and 0.5.23, models/registry.py",
        "machine",
        ends_server=False,
    ),
    Known(
        "draft-graph-off",
        r"Disable DFLASH draft cuda graph because only",
        "the draft runs without CUDA graphs, and slowly: too little GPU memory is left",
        "lower --mem-fraction-static",
        "sglang 0.5.14, speculative/dflash_worker_v2.py",
        "command",
        ends_server=False,
    ),
    Known(
        "eagle3-unexpected-weight",
        r"Eagle3 MLA: skipping unexpected weight",
        "the engine skips tensors of the draft",
        VERIFY,
        "sglang 0.5.14 and 0.5.23, models/kimi_k25_eagle3.py",
        "draft",
        ends_server=False,
    ),
)
# Worth knowing, and no fault of a draft.
NOTED = (
    Known(
        "retracted",
        r"KV cache pool is full\. Retract requests\.",
        "requests were sent back to the queue, since the KV cache was full",
        "send fewer at once, or leave the cache more memory",
        "sglang 0.5.14 and 0.5.23, managers/scheduler.py",
        "machine",
        ends_server=False,
        severity="warn",
    ),
    Known(
        "dflash-without-mixed-chunk",
        r"Mixed chunked prefill is disabled because of using",
        "the engine switched --enable-mixed-chunk off",
        "leave the flag out",
        "sglang 0.5.14, arg_groups/speculative_hook.py",
        "command",
        ends_server=False,
        severity="warn",
    ),
    Known(
        "running-requests-reset",
        r"Max running requests is reset to 48 for speculative decoding",
        "the engine limits the running requests to 48",
        "state --max-running-requests in the profile",
        "sglang 0.5.14 and 0.5.23, arg_groups/speculative_hook.py",
        "command",
        ends_server=False,
        severity="warn",
    ),
)
