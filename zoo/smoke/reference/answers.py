"""What the engine found as the JSON of SGLang 0.5.14: ``meta_info``, /generate, /server_info, /model_info.

Field names, and when each is there: managers/tokenizer_manager.py and entrypoints/http_server.py of that
version.
"""

from __future__ import annotations

from typing import Any

from zoo import __version__
from zoo.smoke.reference.engine import Answer, Engine
from zoo.smoke.reference.options import Options
from zoo.smoke.reference.requests import Request


def generated(
    engine: Engine, request: Request, answer: Answer, number: str, seconds: float
) -> dict[str, Any]:
    """One answer of /generate, or one chunk of it; ``number`` is the id of the request."""
    found: dict[str, Any] = {
        "output_ids": answer.tokens,
        "meta_info": meta_info(engine, request, answer, number, seconds),
    }
    if engine.target.tokenizer is not None:
        found = {"text": engine.target.text(spoken(answer)), **found}
    return found


def spoken(answer: Answer) -> list[int]:
    """The tokens of an answer without the one that ended it."""
    stopped = answer.finish is not None and answer.finish["type"] == "stop"
    return answer.tokens[:-1] if stopped else answer.tokens


def meta_info(
    engine: Engine, request: Request, answer: Answer, number: str, seconds: float
) -> dict[str, Any]:
    """Counts are there in the last chunk only, and not at all for an answer without a verify step.

    ``spec_accept_length`` is completion tokens / verify steps, as that engine says it; the accept length of
    ``zoo.replay.acceptance`` is 1 + correct drafts / verify steps.
    """
    found: dict[str, Any] = {
        "id": number,
        "finish_reason": answer.finish,
        "prompt_tokens": len(request.input_ids),
        "weight_version": "default",
        "num_retractions": 0,
        "reasoning_tokens": 0,
        "completion_tokens": len(answer.tokens),
        "cached_tokens": 0,  # nothing is shared between requests
    }
    if request.logprobs is not None:
        found |= {
            "input_token_logprobs": answer.prompt.tokens,
            "output_token_logprobs": answer.output.tokens,
            "output_token_logprobs_length": len(answer.output.tokens),
        }
        if request.logprobs.top:
            found |= {"input_top_logprobs": answer.prompt.top, "output_top_logprobs": answer.output.top}
    if answer.finish is None:
        return found
    found["e2e_latency"] = seconds
    steps = len(answer.accepted)
    if engine.block_size is not None and steps:
        correct, proposed = sum(answer.accepted), steps * (engine.block_size - 1)
        found |= {
            "spec_accept_rate": correct / proposed,
            "spec_accept_length": len(answer.tokens) / steps,
            "spec_num_correct_drafts": correct,
            "spec_num_proposed_drafts": proposed,
            "spec_verify_ct": steps,
            "spec_correct_drafts_histogram": answer.histogram,
        }
    return found


def server_info(engine: Engine, options: Options) -> dict[str, Any]:
    """What runs: the resolved arguments, and the state of the one worker."""
    state: dict[str, Any] = {"memory_usage": _memory(engine), "effective_max_running_requests_per_dp": 1}
    if engine.steps:
        state["avg_spec_accept_length"] = 1 + engine.correct / engine.steps
    drafted = engine.draft is not None
    return {
        "engine": "reference",
        "version": __version__,
        "reading": "==".join(options.reading),
        "model_path": str(options.model),
        "served_model_name": options.name,
        "host": options.host,
        "port": options.port,
        "dtype": str(engine.target.dtype).removeprefix("torch."),
        "kv_cache_dtype": "auto",
        "device": "cpu",
        "tp_size": 1,
        "random_seed": options.seed,
        "context_length": engine.target.context_length,
        "max_running_requests": 1,
        "max_total_num_tokens": engine.target.context_length,
        "skip_tokenizer_init": not options.tokenizer,
        "speculative_algorithm": "DFLASH" if drafted else None,
        "speculative_draft_model_path": str(options.draft) if drafted else None,
        "speculative_num_draft_tokens": engine.block_size,
        "speculative_num_steps": 1 if drafted else None,
        "speculative_eagle_topk": 1 if drafted else None,
        "internal_states": [state],
    }


def model_info(engine: Engine, options: Options) -> dict[str, Any]:
    return {
        "model_path": str(options.model),
        "tokenizer_path": str(options.model),
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
        "has_image_understanding": False,
        "has_audio_understanding": False,
        "model_type": engine.target.model.config.model_type,
        "architectures": engine.target.model.config.architectures,
    }


def _memory(engine: Engine) -> dict[str, Any]:
    """GB, as SGLang counts them, and how many tokens fit: one request of the whole context."""
    config, parameters = engine.target.config, engine.target.model.parameters()
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    row = 2 * config.num_hidden_layers * config.num_key_value_heads * width * engine.target.dtype.itemsize
    return {
        "weight": round(sum(each.nbytes for each in parameters) / 1e9, 6),
        "kvcache": round(row * engine.target.context_length / 1e9, 6),
        "token_capacity": engine.target.context_length,
        "graph": 0.0,
    }
