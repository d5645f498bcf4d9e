"""Strict JSON: what is refused, what is reported and still handed on, and where the finding points."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.checkpoint.jsonfile import JsonCodes, MalformedJson, Repeated, decode, pointer, read_json
from zoo.results import Finding

CODES = JsonCodes(unreadable="C002", duplicate="C003", non_finite="C004")


def read(tmp_path: Path, text: str | bytes) -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    (tmp_path / "config.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_json(tmp_path / "config.json", "config.json", CODES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{'a': 1}",
        '{"a": 1} {}',
        b'{"a": "\xe9"}',
        b"\xef\xbb\xbf{}",
        '{"a": "\\ud800"}',
        '{"\\ud800": 1}',
        '{"a": 18446744073709551616}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": ' + "[" * 100 + "]" * 100 + "}",
        "[" * 200_000,
        '{"a": "' + "x" * 2**22 + '"}',
    ],
    ids=lambda text: repr(text[:20]),
)
def test_what_readers_cannot_agree_on_is_refused(text: str | bytes, tmp_path: Path) -> None:
    value, findings = read(tmp_path, text)
    assert value is None
    assert [finding.code for finding in findings] == ["C002"]


def test_a_duplicate_key_is_found_at_any_depth_and_the_last_value_is_handed_on(tmp_path: Path) -> None:
    value, (finding,) = read(tmp_path, '{"a": [{"b/c": 1, "b/c": 2}]}')
    assert value == {"a": [{"b/c": 2}]}
    assert finding.code == "C003"
    assert finding.where.pointer == "/a/0/b~1c"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_is_found_where_it_stands(number: str, tmp_path: Path) -> None:
    _, (finding,) = read(tmp_path, f'{{"a": {{"b": {number}}}}}')
    assert (finding.code, finding.where.pointer) == ("C004", "/a/b")


def test_a_syntax_error_has_a_line_and_a_column(tmp_path: Path) -> None:
    _, (finding,) = read(tmp_path, '{\n  "a": 1,\n  "b" 2\n}')
    assert (finding.where.file, finding.where.line, finding.where.column) == ("config.json", 3, 7)


def test_an_lfs_pointer_in_place_of_a_config_is_called_one(tmp_path: Path) -> None:
    _, (finding,) = read(tmp_path, "version https://git-lfs.github.com/spec/v1\nsize 912\n")
    assert "not JSON but a Git LFS pointer to a file of 912 bytes" in finding.message


def test_a_file_that_vanished_is_a_finding_and_no_exception(tmp_path: Path) -> None:
    value, (finding,) = read_json(tmp_path / "absent", "absent", CODES)
    assert value is None
    assert finding.code == "C002"


def test_minus_zero_is_no_integer() -> None:
    assert decode(b"[-0, 0, -1]") == [0, 0, -1]
    assert [type(number) for number in decode(b"[-0, 0, -1]")] == [float, int, int]


def test_repeated_keys_are_named_once_each() -> None:
    value = decode(b'{"a": 1, "b": 2, "a": 3, "a": 4}')
    assert isinstance(value, Repeated)
    assert value.keys_repeated == ("a",)
    assert value == {"a": 4, "b": 2}


def test_a_pointer_escapes_as_rfc_6901_says() -> None:
    assert pointer("a/b", "m~n", 0) == "/a~1b/m~0n/0"
    assert pointer() == ""


@settings(max_examples=300, derandomize=True)
@given(
    st.dictionaries(st.text(), st.integers(-(2**63), 2**63) | st.text() | st.none() | st.lists(st.booleans()))
)
def test_json_of_json_dumps_is_read_back_unchanged(value: dict[str, Any]) -> None:
    text = json.dumps(value).encode()
    assert decode(text) == value


@settings(max_examples=300, derandomize=True)
@given(st.binary(max_size=60))
def test_bytes_decode_or_are_called_malformed(raw: bytes) -> None:
    with contextlib.suppress(MalformedJson):  # and nothing else
        decode(raw)
