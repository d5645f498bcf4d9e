"""Whether tool calls and reasoning come out of a chat as such, by the parsers that the profile names.

A parser that does not fit the target leaves the target's own markers in the text. Whether a model calls a
tool at all is its own choice: where it does not, there is nothing to judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from zoo.engines.flags import flag_value
from zoo.engines.hazards import profile_argv
from zoo.evidence import Result
from zoo.smoke.probes.verdicts import failed, not_checked, passed
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import PARSERS

# What stands around tool calls and reasoning in the text of Kimi, DeepSeek, Qwen, Mistral, Llama and GLM
# models.
_MARKERS = (
    "<|tool_call",
    "<|tool▁call",
    "<tool_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<think>",
    "</think>",
    "◁think▷",
)


def judge(served: Served) -> Result:
    argv = profile_argv(served.recipe, served.profile)
    tools, reasoning = flag_value(argv, "--tool-call-parser"), flag_value(argv, "--reasoning-parser")
    if served.is_reference or not (tools or reasoning):
        return not_checked(
            PARSERS, "the profile names no parser" if not served.is_reference else "no parser here"
        )
    if isinstance(served.chat, Absent):
        return not_checked(PARSERS, served.chat)
    if served.chat.status != 200:
        return failed(PARSERS, f"the chat was answered with {served.chat.status}: {served.chat.said}")
    message = _message(served.chat.data)
    if message is None:
        return failed(PARSERS, "the answer of the chat has no message")
    return _judge(message, bool(tools), bool(reasoning))


def _judge(message: Mapping[str, Any], tools: bool, reasoning: bool) -> Result:
    content, thought = str(message.get("content") or ""), str(message.get("reasoning_content") or "")
    calls = message.get("tool_calls") or []
    said = {"tool_calls": len(calls) if isinstance(calls, list) else 0, "reasoning": bool(thought)}
    problems = [f"the text still has {marker!r}" for marker in _MARKERS if marker in content]
    problems += _unparsable(calls)
    if problems:
        return failed(PARSERS, problems, said)
    missing = [
        what
        for named, found, what in (
            (tools, calls, "the model called no tool"),
            (reasoning, thought, "the model gave no reasoning"),
        )
        if named and not found
    ]
    if missing:
        return not_checked(PARSERS, " and ".join(missing), said)
    return passed(PARSERS, said)


def _unparsable(calls: Any) -> list[str]:
    """Tool calls whose arguments are no JSON object."""
    if not isinstance(calls, list):
        return ["tool_calls is no list"]
    found = []
    for number, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        try:
            arguments = json.loads(function["arguments"])  # type: ignore[index]
        except (TypeError, KeyError, ValueError):
            arguments = None
        if not isinstance(arguments, dict):
            found.append(f"tool call {number}: its arguments are no JSON object")
    return found


def _message(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choices: Sequence[Any] = data.get("choices") or []
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else None
