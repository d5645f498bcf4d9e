"""The header reader, compared with the reference implementation and fed with nonsense."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest
import safetensors
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.corpus.cases import CASES, make_of
from tests.corpus.kit import Tensor, good_draft, header_bytes, layout, load, save, write_raw
from zoo.checkpoint.collect import SHOWN_PER_CODE
from zoo.checkpoint.model import Header
from zoo.checkpoint.safetensors import DTYPE_BITS, parse_header, read_header

MUTATIONS = 3000
FEW: dict[str, Tensor] = {
    "fc.weight": ("BF16", (4, 2), bytes(16)),
    "d2t": ("I64", (3,), bytes(24)),
    "scale": ("F32", (), bytes(4)),
    "none": ("U8", (0, 5), b""),
}
# What the reference implementation accepts, and we do not, as (old, new) in the header of FEW.
STRICTER = {
    "F108": ("{", " {"),
    "F109": ("}}", "}}\n"),
    "F110": ("{", '{"fc.weight":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'),
    "F112": ("{", '{"__metadata__":{"a":"1","a":"2"},'),
    "F114": ("{", '{"__metadata__":null,'),
    "F116": ('{"dtype":"F32","shape":[],"data_offsets":[40,44]}', '["F32",[],[40,44]]'),
    "F117": ('"dtype":"F32"', '"dtype":"F32","strides":[1]'),
    "F118": ('"F32"', '{"F32":null}'),
    "F122": ("[0,5]", "[0,9223372036854775808]"),
    "F130": ('"d2t"', '""'),
    "F131": ('"d2t"', '"__proto__"'),
    "X008": ('"d2t"', '"../../d2t"'),
}


def library_header(path: Path) -> dict[str, tuple[str, tuple[int, ...]]] | None:
    """What safe_open makes of the file: name -> dtype and shape. None if it refuses."""
    try:
        with safetensors.safe_open(path, framework="np") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            return {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    except safetensors.SafetensorError:
        return None


def our_header(header: Header | None) -> dict[str, tuple[str, tuple[int, ...]]] | None:
    if header is None:
        return None
    return {name: (tensor.dtype, tensor.shape) for name, tensor in header.tensors.items()}


NUMBERS = [b"0", b"-0", b"1.0", b"1e0", b"true", b"null", b"NaN", b"8", b"9223372036854775808", b"[]"]
STRINGS = [b'""', b'"F4"', b'"F32"', b'"I64"', b'"dtype"', b'"__metadata__"', b'"x"', b"7"]
PARTS = [b"0", b"-", b"1", b" ", b",", b"{", b"}", b"[", b'"', b"\\u0041"]


def few() -> tuple[str, bytes]:
    return json.dumps(layout(FEW), separators=(",", ":")), b"".join(data for _, _, data in FEW.values())


def mutate(rng: random.Random, text: str, data: bytes) -> bytes:
    """A safetensors file with one to three random changes in length, header or data."""
    raw = bytearray(text.encode())
    length_change = 0
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(raw))
        match rng.randrange(9):
            case 0:
                raw[place] = rng.randrange(256)
            case 1:
                del raw[place : place + rng.randint(1, 4)]
            case 2:
                raw[place:place] = rng.choice(PARTS)
            case 3:  # a number becomes another
                replace_one(rng, rb"\d+", NUMBERS, raw)
            case 4:  # a string becomes another
                replace_one(rng, rb'"[^"]*"', STRINGS, raw)
            case 5:  # a part occurs twice
                raw[place:place] = raw[rng.randrange(len(raw)) :][: rng.randint(1, 80)]
            case 6:
                data = rng.choice([data[: rng.randrange(len(data) + 1)], data + bytes(rng.randint(1, 9))])
            case 7:
                length_change = rng.choice([-1, 1, 8, -len(raw), 2**63 - len(raw), 10**8])
            case _:  # harmless: padding
                raw += b" " * rng.randint(1, 16)
        if not raw:
            raw += b"{}"
    return ((len(raw) + length_change) % 2**64).to_bytes(8, "little") + bytes(raw) + data


def replace_one(rng: random.Random, pattern: bytes, choices: list[bytes], raw: bytearray) -> None:
    """Replace one match of ``pattern`` in ``raw`` by one of ``choices``."""
    if matches := list(re.finditer(pattern, raw)):
        start, end = rng.choice(matches).span()
        raw[start:end] = rng.choice(choices)


def test_a_good_header_is_read_whole(tmp_path: Path) -> None:
    save(tmp_path / "few.safetensors", FEW, {"format": "pt"})
    header, findings = read_header(tmp_path / "few.safetensors", "few.safetensors")
    assert findings == ()
    assert header is not None
    assert header.metadata == {"format": "pt"}
    assert our_header(header) == library_header(tmp_path / "few.safetensors")
    assert header.tensors["d2t"].begin == 16
    assert header.tensors["d2t"].nbytes == 24
    assert header.data_start + header.data_nbytes == (tmp_path / "few.safetensors").stat().st_size


@pytest.mark.parametrize("dtype", sorted(DTYPE_BITS))
def test_every_dtype_has_the_size_that_the_library_gives_it(dtype: str, tmp_path: Path) -> None:
    save(tmp_path / "x", {"x": (dtype, (8,), bytes(DTYPE_BITS[dtype]))})
    header, findings = read_header(tmp_path / "x", "x")
    assert findings == ()
    assert our_header(header) == library_header(tmp_path / "x")


def test_we_know_exactly_the_dtypes_of_the_library(tmp_path: Path) -> None:
    write_raw(tmp_path / "x", {"x": {"dtype": "no such", "shape": [0], "data_offsets": [0, 0]}})
    with pytest.raises(safetensors.SafetensorError) as refused, safetensors.safe_open(tmp_path / "x", "np"):
        pass
    assert set(re.findall(r"`([A-Z0-9_]+)`", str(refused.value))) == set(DTYPE_BITS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_the_library_refuses_of_the_corpus_we_refuse(case: Path, tmp_path: Path) -> None:
    try:
        make_of(case).make(tmp_path / "draft")
    except NotImplementedError:
        pytest.skip("needs a recipe")
    for path in (tmp_path / "draft").glob("*.safetensors"):
        if path.is_file() and library_header(path) is None:
            assert read_header(path, path.name)[0] is None


@pytest.mark.parametrize("code", sorted(STRICTER))
def test_what_the_library_wrongly_accepts_we_refuse_under_a_code_of_its_own(
    code: str, tmp_path: Path
) -> None:
    text, data = few()
    old, new = STRICTER[code]
    assert old in text
    write_raw(tmp_path / "x", text.replace(old, new, 1), data)
    assert library_header(tmp_path / "x") is not None
    header, findings = read_header(tmp_path / "x", "x")
    assert header is None
    assert {finding.code for finding in findings} == {code}


def test_whatever_the_library_refuses_of_random_mutations_we_refuse(tmp_path: Path) -> None:
    rng = random.Random(20261130)
    text, data = few()
    both_accept = 0
    for _ in range(MUTATIONS):
        raw = mutate(rng, text, data)
        path = tmp_path / "mutated"
        path.write_bytes(raw)
        ours, findings = read_header(path, "mutated")
        theirs = library_header(path)
        assert (ours is None) <= bool(findings), raw
        if theirs is None:
            assert ours is None, raw
        elif ours is not None:
            assert our_header(ours) == theirs, raw
            both_accept += 1
    # Otherwise a reader that refuses everything would pass.
    assert both_accept > MUTATIONS / 20


@settings(max_examples=500, derandomize=True, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2**64))
def test_no_bytes_make_the_reader_raise(raw: bytes, size: int) -> None:
    header, findings = parse_header(raw, size, "x")
    assert header is not None or findings


_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4)
    | st.sampled_from(["BF16", "F4", "dtype", "shape", "data_offsets", "__metadata__", "\ud800"])
)  # fmt: skip
_JSON = st.recursive(
    _SCALARS,
    lambda below: (
        st.lists(below, max_size=4)
        | st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets", "x"]), below, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=500, derandomize=True, deadline=None)
@given(st.dictionaries(st.sampled_from(["__metadata__", "a", "b.c", ""]), _JSON, max_size=3))
@example({"a": {"dtype": "U8", "shape": [1] * 100_000, "data_offsets": [0, 1]}})
@example({"a": {"dtype": "U8", "shape": [2**62] * 100_000, "data_offsets": [0, 1]}})
def test_no_json_makes_the_reader_raise(value: dict[str, object]) -> None:
    raw = header_bytes(value) + b"\0"
    parse_header(raw, len(raw), "x")


def test_a_million_defects_are_ten_findings_and_a_count() -> None:
    raw = header_bytes({f"t{number}": {"dtype": "?"} for number in range(1000)})
    _, findings = parse_header(raw, len(raw), "x")
    assert len(findings) == SHOWN_PER_CODE
    assert findings[-1].message.endswith("(and 990 more like this)")


def test_nothing_unprintable_of_a_header_reaches_a_finding() -> None:
    name = "\x1b[2J\u202e" + "x" * 5000
    raw = header_bytes({name: {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}})
    _, (finding,) = parse_header(raw, len(raw), "evil\x1b.safetensors")
    shown = [finding.message, finding.hint, finding.where.tensor or "", finding.where.file or ""]
    assert all(text.isprintable() and len(text) < 400 for text in shown)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts bytes with the Linux kernel's help")
def test_the_data_of_a_seven_gigabyte_file_is_never_read(tmp_path: Path) -> None:
    nbytes = 7_000_000_000
    raw = header_bytes({"fc.weight": {"dtype": "U8", "shape": [nbytes], "data_offsets": [0, nbytes]}})
    with (tmp_path / "x").open("wb") as file:
        file.write(raw)
        file.truncate(len(raw) + nbytes)  # sparse: takes no room on the disk
    before = bytes_read()
    cost_of_counting = bytes_read() - before
    before = bytes_read()
    header, findings = read_header(tmp_path / "x", "x")
    assert bytes_read() - before - cost_of_counting == len(raw)
    assert header is not None
    assert findings == ()


def bytes_read() -> int:
    """How many bytes this process has asked the kernel for (``rchar``)."""
    with os.fdopen(os.open("/proc/self/io", os.O_RDONLY), "rb", buffering=0) as file:
        return int(file.read(20).split()[1])


def test_the_header_of_a_good_draft_has_all_its_tensors(tmp_path: Path) -> None:
    good_draft(tmp_path)
    header, _ = read_header(tmp_path / "model.safetensors", "model.safetensors")
    assert header is not None
    assert len(header.tensors) == 3 + 11 * 2
    assert header.length % 8 == 0
    assert len(load(tmp_path / "model.safetensors")[1]) == header.data_nbytes
