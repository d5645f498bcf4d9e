"""The body of a request as SGLang 0.5.14 takes it on /generate, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zoo.printable import quoted
from zoo.smoke.reference.sampling import Sampling
from zoo.smoke.reference.target import Target

GRAMMARS = ("json_schema", "regex", "ebnf", "structural_tag")
# Settings that mean nothing here, with the value at which SGLang does nothing either.
_IDLE: Mapping[str, tuple[Any, ...]] = {
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "min_p": (0,),
    "min_new_tokens": (0,),
    "n": (1,),
    "stop": ([], ""),
    "stop_regex": ([], ""),
    "logit_bias": ({},),
}
_TAKEN = ("max_new_tokens", "temperature", "top_p", "top_k", "ignore_eos", "stop_token_ids")
_HARMLESS = ("skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim", "sampling_seed")
_FIELDS = ("input_ids", "text", "sampling_params", "stream", "rid", "return_text_in_logprobs", "log_metrics")
_LOGPROBS = ("return_logprob", "logprob_start_len", "top_logprobs_num")
_MOST_TOP = 1000


class BadRequestError(ValueError):
    """A request that is answered with HTTP 400; the message says why."""


@dataclass(frozen=True, slots=True)
class Logprobs:
    """Log probabilities of the prompt from position ``start`` on, and of the ``top`` likeliest tokens."""

    start: int
    top: int


@dataclass(frozen=True, slots=True)
class Request:
    input_ids: tuple[int, ...]
    sampling: Sampling
    logprobs: Logprobs | None = None
    stream: bool = False


def parse_request(body: Mapping[str, Any], target: Target, *, drafted: bool) -> Request:
    """A request from the JSON of a body; ``drafted``: a draft runs, which refuses some kinds.

    Raises:
        BadRequestError: it cannot be served.
    """
    stated = body.get("sampling_params") or {}
    if not isinstance(stated, Mapping):
        raise BadRequestError("sampling_params is not an object")
    if body.get("return_logprob") and drafted:
        raise BadRequestError("DFLASH speculative decoding does not support return_logprob yet.")
    if any(stated.get(key) is not None for key in GRAMMARS):
        raise BadRequestError(no_grammar(drafted))
    unknown = [key for key in body if key not in (*_FIELDS, *_LOGPROBS) and body[key]]
    if unknown:
        raise BadRequestError(f"the reference engine knows no field {quoted(str(unknown[0]))}")
    ids = _input_ids(body, target)
    sampling = parse_sampling(stated)
    check_length(len(ids), sampling.max_new_tokens, target.context_length)
    logprobs = None
    if body.get("return_logprob"):
        start = _whole(body, "logprob_start_len", -1, least=-1, most=len(ids))
        top = _whole(body, "top_logprobs_num", 0, least=0, most=_MOST_TOP)
        logprobs = Logprobs(len(ids) if start == -1 else start, top)
    return Request(ids, sampling, logprobs, bool(body.get("stream")))


def no_grammar(drafted: bool) -> str:
    """Why a request for a grammar is refused."""
    if drafted:
        return "DFLASH speculative decoding does not support grammar-constrained decoding yet."
    return "the reference engine has no grammar-constrained decoding"


def parse_sampling(stated: Mapping[str, Any]) -> Sampling:
    """Settings of SGLang's ``sampling_params``.

    Raises:
        BadRequestError: one has no meaning here, or a value that makes none.
    """
    for key, value in stated.items():
        if key in _IDLE and value is not None and value not in _IDLE[key]:
            raise BadRequestError(f"the reference engine has no {key}")
        if key not in (*_IDLE, *_HARMLESS, *GRAMMARS, *_TAKEN):
            raise BadRequestError(f"unknown sampling parameter {quoted(str(key))}")
    stops = stated.get("stop_token_ids") or []
    if not isinstance(stops, list) or not all(_is_whole(each) for each in stops):
        raise BadRequestError("stop_token_ids is not a list of token ids")
    top_k = _whole(stated, "top_k", -1, least=-1)
    if top_k == 0:
        raise BadRequestError("top_k must be -1 (disable) or at least 1, got 0.")
    return Sampling(
        max_new_tokens=_whole(stated, "max_new_tokens", 128, least=0),
        temperature=_number(stated, "temperature", 1.0, 0.0, 1e6),
        top_p=_number(stated, "top_p", 1.0, 1e-9, 1.0),
        top_k=top_k,
        ignore_eos=bool(stated.get("ignore_eos")),
        stops=frozenset(stops),
    )


def check_length(prompt: int, new: int, most: int) -> None:
    """Raises BadRequestError where prompt and answer are longer than the context."""
    if prompt >= most:
        raise BadRequestError(
            f"The input ({prompt} tokens) is longer than the model's context length ({most} tokens)."
        )
    if prompt + new > most:
        raise BadRequestError(
            f"Requested token count exceeds the model's maximum context length of {most} tokens: {prompt} of "
            f"the input and {new} of the completion."
        )


def _input_ids(body: Mapping[str, Any], target: Target) -> tuple[int, ...]:
    ids, text = body.get("input_ids"), body.get("text")
    if (ids is None) == (text is None):
        raise BadRequestError("Either text or input_ids should be provided.")
    if text is not None:
        if target.tokenizer is None:
            raise BadRequestError(
                "the server was started with --skip-tokenizer-init: give input_ids, not text"
            )
        if not isinstance(text, str):
            raise BadRequestError("text is not one string: the reference engine takes one prompt a request")
        ids = target.tokenizer.encode(text)
    if not isinstance(ids, list) or not ids or not all(_is_whole(each) for each in ids):
        raise BadRequestError(
            "input_ids is not a list of token ids: one prompt a request, of one token or more"
        )
    if not all(0 <= token < target.vocab_size for token in ids):
        raise BadRequestError(f"input_ids has a token outside the vocabulary of {target.vocab_size}")
    return tuple(ids)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole(stated: Mapping[str, Any], key: str, default: int, *, least: int, most: int | None = None) -> int:
    value = stated.get(key)
    if value is None:
        return default
    if not _is_whole(value) or value < least or (most is not None and value > most):
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        raise BadRequestError(f"{key} must be a whole number, {limits}")
    return int(value)


def _number(stated: Mapping[str, Any], key: str, default: float, least: float, most: float) -> float:
    value = stated.get(key)
    if value is None:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise BadRequestError(f"{key} must be a number from {least:g} to {most:g}")
    return float(value)
