"""Lines of a conversations file: what is understood, and one clear error for the rest. No torch is needed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran
from zoo.errors import UsageError
from zoo.replay.conversations import Limits, Tokenizer, conversations_digest, read_conversations

Run = Callable[..., Ran]
LIMITS = Limits(vocab_size=512, context=64, max_new_tokens=8)


def write(tmp_path: Path, *lines: Any) -> Path:
    path = tmp_path / "c.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def read(path: Path, **how: Any) -> Any:
    return read_conversations(path, LIMITS, Tokenizer(None), **how)


def test_prompts_and_given_continuations_are_read(tmp_path: Path) -> None:
    given = {"name": "b", "domain": "story", "input_ids": [3], "continuation_ids": [4, 5], "temperature": 0}
    asked, main = read(write(tmp_path, {"input_ids": [1, 2]}, "", given))
    assert main == "main"
    assert [(a.name, a.domain, a.prompt, a.continuation, a.temperature) for a in asked] == [
        ("0001", "main", (1, 2), None, None),
        ("b", "story", (3,), (4, 5), 0.0),
    ]


def test_the_main_domain_is_the_one_that_is_named_or_the_first(tmp_path: Path) -> None:
    path = write(tmp_path, {"domain": "agent", "input_ids": [1]}, {"domain": "story", "input_ids": [2]})
    assert read(path)[1] == "agent"
    assert read(path, domain="story")[1] == "story"
    with pytest.raises(UsageError, match='main domain "code"'):
        read(path, domain="code")


def test_top_keeps_the_first_of_each_domain(tmp_path: Path) -> None:
    lines = [{"domain": domain, "input_ids": [1]} for domain in ("a", "a", "a", "b", "b")]
    asked, _ = read(write(tmp_path, *lines), top=2)
    assert [one.domain for one in asked] == ["a", "a", "b", "b"]


def test_the_digest_changes_with_every_part_of_what_was_asked_for(tmp_path: Path) -> None:
    line = {"name": "a", "domain": "main", "input_ids": [1], "continuation_ids": [2], "temperature": 0}
    changes: list[dict[str, Any]] = [
        {},
        {"name": "b"},
        {"domain": "c"},
        {"input_ids": [3]},
        {"continuation_ids": [3]},
        {"temperature": 1},
    ]
    digests = {conversations_digest(read(write(tmp_path, line | change))[0]) for change in changes}
    assert len(digests) == len(changes)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"input_ids": [1], "input_ids": [2]}', "more than once"),
        ({"input_id": [1]}, 'Did you mean "input_ids"?'),
        ({"name": "a"}, "has no prompt"),
        ({"input_ids": [1], "text": "a"}, "has input_ids and text"),
        ({"input_ids": []}, "no list of token ids"),
        ({"input_ids": [1, True]}, "no list of token ids"),
        ({"input_ids": [1, 512]}, "the id 512, and the vocabulary ends at 511"),
        ({"input_ids": [-1]}, "the id -1"),
        ({"input_ids": [1] * 60}, "takes 68 tokens, and the target has positions for 64"),
        ({"input_ids": [1], "continuation_ids": []}, "continuation_ids"),
        ({"input_ids": [1], "continuation_ids": [600]}, "the id 600"),
        ({"input_ids": [1], "temperature": 0}, "temperature"),
        ({"input_ids": [1], "continuation_ids": [2], "temperature": -1}, "temperature"),
        ({"input_ids": [1], "continuation_ids": [2], "temperature": "0"}, "temperature"),
        ({"input_ids": [1], "domain": "Not A Name"}, "domain"),
        ({"input_ids": [1], "name": "a\nb"}, "name"),
        ({"input_ids": [1], "name": "first"}, "is that of line 1"),
        ({"text": 1}, "text"),
        ({"text": "a"}, "tokenizer"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "assistant", "content": "a"}]}, "the last message is the assistant's"),
    ],
)
def test_a_bad_line_is_one_error_with_file_and_line_and_nothing_is_written(
    tmp_path: Path, run_zoo: Run, line: Any, said: str
) -> None:
    path = write(tmp_path, {"name": "first", "input_ids": [1]}, line)
    with pytest.raises(UsageError) as raised:
        read(path)
    assert raised.value.message.startswith(f"{path}:2: ")
    assert said in raised.value.message
    assert "\n" not in raised.value.message


def test_the_command_says_the_line_and_makes_no_folder(tmp_path: Path, run_zoo: Run) -> None:
    path = write(tmp_path, {"input_ids": [1]}, {"input_ids": [999]})
    ran = run_zoo("trace", "tiny", "--conversations", path, "--out", tmp_path / "out")
    assert ran.status == 2
    assert f"{path}:2: " in ran.err
    assert ran.out == ""
    assert not (tmp_path / "out").exists()


def test_an_empty_file_and_none_are_told_apart(tmp_path: Path, run_zoo: Run) -> None:
    with pytest.raises(UsageError, match="has no conversations"):
        read(write(tmp_path))
    ran = run_zoo("trace", "tiny", "--conversations", tmp_path / "none", "--out", tmp_path / "out")
    assert ran.status == 2
    assert "No such file" in ran.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "a trace needs a target"),
        (["tiny", "--out", "t"], "either --conversations or --import"),
        (["tini", "--conversations", "c", "--out", "t"], 'Did you mean "tiny"?'),
        (["kimi-k2.7-code", "--conversations", "c", "--out", "t"], "--model FOLDER"),
        (["tiny", "--conversations", "c", "--out", "t", "--layers", "1,4"], "has layers 0 to 3"),
        (["tiny", "--conversations", "c", "--out", "t", "--layers", "1,1"], "name each once"),
        (["tiny", "--conversations", "c", "--out", "t", "--layers", "kimi-ft-v3"], "is for the target"),
        (["tiny", "--import", "d", "--out", "t"], "--layers 1,14,26"),
        (["tiny", "--import", "d", "--out", "t", "--layers", "0,1,2"], "is not there"),
        (["tiny", "--import", "d", "--out", "t", "--layers", "0,1,2", "--domain", "A b"], "not a name"),
        (["tiny", "--check", "t"], "nothing else"),
        (["tiny", "--conversations", "c", "--out", "t", "--model", "examples/tiny/base"], "layers"),
    ],
)
def test_words_that_do_not_fit_together_say_what_to_do(run_zoo: Run, args: list[str], said: str) -> None:
    ran = run_zoo("trace", *args)
    assert ran.status == 2
    assert said in ran.err


def test_a_line_that_needs_transformers_is_not_a_bad_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)  # as where it is not installed
    path = write(tmp_path, {"messages": [{"role": "user", "content": "a"}]})
    with pytest.raises(UsageError) as raised:
        read_conversations(path, LIMITS, Tokenizer(tmp_path))
    assert raised.value.message == f"{path}:1: text and messages need transformers"
    assert raised.value.hint == "pip install 'draft-zoo[torch]'"
