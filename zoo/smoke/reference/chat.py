"""/v1/chat/completions, as much as a smoke test asks: one answer, through the target's chat template."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from zoo.smoke.reference.answers import meta_info, spoken
from zoo.smoke.reference.engine import Answer, Engine
from zoo.smoke.reference.requests import BadRequestError, Request, check_length, no_grammar, parse_sampling

_SAMPLING = ("temperature", "top_p", "top_k", "ignore_eos", "stop_token_ids", "stop", "min_p", "n")
_PENALTIES = ("frequency_penalty", "presence_penalty", "repetition_penalty")


def parse_chat(body: Mapping[str, Any], engine: Engine) -> Request:
    """The request behind a body.

    ``tool_choice`` auto only shows the tools to the template; any that forces a call asks for a grammar, and
    so does a ``response_format``.

    Raises:
        BadRequestError: it cannot be served.
    """
    drafted = engine.draft is not None
    if body.get("logprobs"):
        if drafted:
            raise BadRequestError("DFLASH speculative decoding does not support return_logprob yet.")
        raise BadRequestError("the reference engine gives log probabilities on /generate only")
    kind = (body.get("response_format") or {}).get("type", "text")
    if kind != "text" or body.get("tool_choice") not in (None, "auto", "none"):
        raise BadRequestError(no_grammar(drafted))
    if body.get("stream"):
        raise BadRequestError("the reference engine streams on /generate only")
    ids = _prompt(body, engine)
    sampling = {key: body[key] for key in (*_SAMPLING, *_PENALTIES) if body.get(key) is not None}
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    sampling["max_new_tokens"] = limit or max(1, engine.target.context_length - len(ids))
    made = Request(ids, parse_sampling(sampling))
    check_length(len(ids), made.sampling.max_new_tokens, engine.target.context_length)
    return made


def _prompt(body: Mapping[str, Any], engine: Engine) -> tuple[int, ...]:
    tokenizer = engine.target.tokenizer
    if tokenizer is None:
        raise BadRequestError("the server was started with --skip-tokenizer-init: there is no chat template")
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        raise BadRequestError("messages is not a list of messages")
    try:
        ids = tokenizer.apply_chat_template(
            body["messages"],
            tools=body.get("tools") if body.get("tool_choice") != "none" else None,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
            **(body.get("chat_template_kwargs") or {}),
        )
    except Exception as error:  # a template may raise anything
        raise BadRequestError(f"the chat template refuses the messages: {error}") from error
    return tuple(ids)


def completion(
    engine: Engine, body: Mapping[str, Any], request: Request, answer: Answer, number: str, seconds: float
) -> dict[str, Any]:
    """The answer. ``meta_info`` is there where ``return_meta_info`` asks for it, as in SGLang 0.5.14."""
    finish = answer.finish or {}
    choice: dict[str, Any] = {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": engine.target.text(spoken(answer)),
            "reasoning_content": None,
            "tool_calls": None,
        },
        "logprobs": None,
        "finish_reason": finish.get("type"),
        "matched_stop": finish.get("matched"),
    }
    if body.get("return_meta_info"):
        choice["meta_info"] = meta_info(engine, request, answer, number, seconds)
    prompt, new = len(request.input_ids), len(answer.tokens)
    return {
        "id": number,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": str(body.get("model") or "default"),
        "choices": [choice],
        "usage": {
            "prompt_tokens": prompt,
            "total_tokens": prompt + new,
            "completion_tokens": new,
            "prompt_tokens_details": None,
            "reasoning_tokens": 0,
        },
        "metadata": {"weight_version": "default"},
    }
