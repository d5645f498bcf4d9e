"""A strict reader of safetensors headers. It reads 8 + N bytes and never the data.

The format (safetensors README, "Format"): 8 bytes, N as little-endian u64; N bytes of JSON, an object that
starts with ``{`` and may be padded with spaces at its end; then the data, which the offsets of the tensors
cover without hole or overlap. This reader refuses whatever the reference implementation refuses, and also
what that accepts although readers disagree about it: duplicate keys, text before ``{``, unknown fields,
hostile names, a file without tensors.

    header, findings = read_header(Path("model.safetensors"), "model.safetensors")
    header.tensors["fc.weight"].shape

A :class:`Header` exists only if the file has no error: whoever reads data by its offsets needs no further
checks.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zoo.checkpoint.collect import Findings
from zoo.checkpoint.content import SNIFFED_BYTES, identify, open_regular, read_up_to
from zoo.checkpoint.jsonfile import MalformedJson, Repeated, decode, is_unicode
from zoo.checkpoint.model import Header, TensorInfo
from zoo.printable import quoted
from zoo.results import Finding

METADATA_KEY = "__metadata__"
# MAX_HEADER_SIZE of the reference implementation (safetensors/src/tensor.rs).
HEADER_LIMIT = 100_000_000
# The dtypes of safetensors 0.8 and their size in bits; only F4 and the F6 pack elements across bytes.
DTYPE_BITS: Mapping[str, int] = {
    "BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
}  # fmt: skip

_FIELDS = {"dtype", "shape", "data_offsets"}
_INT = frozenset({int})
# Names of torch parameters: parts joined by dots, none empty (torch.nn.Module.register_parameter refuses the
# rest).
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_SIZE_LIMIT = 2**63  # bytes and bits must fit a signed 64-bit number, as file offsets do
# Small test drafts have more header than 1% of their data; a real entry takes about 100 bytes.
_SMALL_HEADER, _LONG_ENTRY = 64 * 1024, 512
_SAVE = "write the file again with safetensors.torch.save_file"
_RENAME = "give the tensor the name that the engine expects"
_FETCH = "fetch the file again and compare its sha256 with the one that the hub shows"


def read_header(path: Path, name: str) -> tuple[Header | None, tuple[Finding, ...]]:
    """Read the header of the file at ``path``, called ``name`` in findings. Never raises."""
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            raw = read_up_to(file, 8)
            raw += read_up_to(file, _length(raw) if _is_plausible(raw, size) else SNIFFED_BYTES - 8)
    except OSError as error:
        found = Findings(name)
        found.add("F006", f"cannot be read ({error.strerror})", "check the permissions of the file")
        return None, found.result()
    return parse_header(raw, size, name)


def parse_header(raw: bytes, file_size: int, name: str) -> tuple[Header | None, tuple[Finding, ...]]:
    """Parse the first 8 + N bytes of a file of ``file_size`` bytes. Never raises.

    If N is impossible, ``raw`` may end anywhere after the first :data:`~zoo.checkpoint.content.SNIFFED_BYTES`
    bytes.
    """
    found = Findings(name)
    with _collector_at_rest():
        header = _parse(raw, file_size, found)
    if found:
        return None, found.result()
    if header is not None:
        _warn(header, file_size, found)
    return header, found.result()


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """No garbage collection meanwhile: with 100,000 tensors it takes longer than the parsing, and finds
    nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _length(raw: bytes) -> int:
    return int.from_bytes(raw[:8], "little")


def _is_plausible(raw: bytes, file_size: int) -> bool:
    return len(raw) >= 8 and 0 < _length(raw) <= min(HEADER_LIMIT, file_size - 8)


def _parse(raw: bytes, file_size: int, found: Findings) -> Header | None:
    length = _length(raw)
    text = raw[8 : 8 + length]
    if not _is_plausible(raw, file_size) or text[:1] not in (b"{", b"[", b" ", b"\t", b"\r", b"\n", b"\xef"):
        content = identify(raw[:SNIFFED_BYTES], file_size)
        if content is not None:
            found.add(content.code, f"not a safetensors file but {content.what}", content.hint)
            return None
    if not _check_length(raw, file_size, found) or not _check_frame(text, found):
        return None
    try:
        top = decode(text)
    except MalformedJson as error:
        found.add("F105", f"the header is not JSON: {error.reason}", _SAVE)
        return None
    if not isinstance(top, dict):
        found.add("F106", "the header is JSON but not an object", _SAVE)
        return None
    if isinstance(top, Repeated):
        _report_repeated(top, found)
    metadata = _metadata(top, found)
    tensors = _tensors(top, found)
    if not tensors and not found:
        found.add("F132", "the header describes no tensors", "export the weights again: this file has none")
    if not found:
        _check_layout(tensors, 8 + length, file_size, found)
    return Header(length, tensors, metadata)


def _check_length(raw: bytes, file_size: int, found: Findings) -> bool:
    length = _length(raw)
    if file_size < 8 or len(raw) < 8:
        found.add("F101", f"its {file_size} bytes are too few for a safetensors file", _FETCH)
    elif length == 0:
        found.add("F103", "the length of the header is 0", _FETCH)
    elif length > HEADER_LIMIT:
        fact = f"the header claims {length:,} bytes, more than the {HEADER_LIMIT:,} that any reader accepts"
        found.add("F104", fact, f"this is no safetensors file, or its first bytes are damaged: {_FETCH}")
    elif 8 + length > file_size or len(raw) < 8 + length:
        found.add("F102", f"the header claims {length:,} bytes, the whole file has {file_size:,}", _FETCH)
    else:
        return True
    return False


def _check_frame(text: bytes, found: Findings) -> bool:
    """The header begins with ``{`` and is padded with spaces only (README, "Format")."""
    if text[:1].isspace():
        found.add("F108", 'the header starts with white space instead of "{"', _SAVE)
    elif text.rstrip(b"\0\t\n\r ") != text.rstrip(b" "):
        found.add("F109", "the header is padded with other bytes than spaces", _SAVE)
    else:
        return True
    return False


def _report_repeated(top: Repeated, found: Findings) -> None:
    for key in top.keys_repeated:
        if key == METADATA_KEY:
            found.add("F111", f'the header has "{METADATA_KEY}" more than once', _SAVE)
        else:
            fact = f"the header describes tensor {quoted(key)} more than once"
            found.add("F110", fact, f"readers disagree on which one counts; {_SAVE}", tensor=key)


def _metadata(top: dict[str, Any], found: Findings) -> dict[str, str]:
    metadata = top.get(METADATA_KEY, {})
    if metadata is None:
        found.add("F114", f'"{METADATA_KEY}" is null', f"leave it out; {_SAVE}")
        return {}
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        fact = f'"{METADATA_KEY}" is not an object whose values are strings'
        found.add("F115", fact, f"turn every value into a string; {_SAVE}")
        return {}
    if isinstance(metadata, Repeated):
        for key in metadata.keys_repeated:
            found.add("F112", f'"{METADATA_KEY}" has the key {quoted(key)} more than once', _SAVE)
    if not all(is_unicode(key) and is_unicode(value) for key, value in metadata.items()):
        found.add("F107", f'"{METADATA_KEY}" holds half of a surrogate pair', _SAVE)
    return metadata


class _Defect(Exception):
    """The first thing that is wrong with the entry of one tensor: a rule code and a fact about the tensor."""

    def __init__(self, code: str, fact: str, hint: str = _SAVE) -> None:
        super().__init__(code, fact)
        self.code = code
        self.fact = fact
        self.hint = hint


def _tensors(top: dict[str, Any], found: Findings) -> dict[str, TensorInfo]:
    tensors = {}
    for name, entry in top.items():
        if name == METADATA_KEY:
            continue
        try:
            _check_name(name)
            tensors[name] = _tensor(name, entry)
        except _Defect as defect:
            found.add(defect.code, f"tensor {quoted(name)} {defect.fact}", defect.hint, tensor=name)
    return tensors


def _check_name(name: str) -> None:
    if name == "":
        raise _Defect("F130", "has an empty name", _RENAME)
    if not _NAME.fullmatch(name):
        raise _Defect("X008", "has a name that is not letters, digits, _ and - joined by dots", _RENAME)
    # "__metadata__" shows that the format takes such names for itself; "__proto__" harms JavaScript readers.
    if name.startswith("__") and name.endswith("__"):
        raise _Defect("F131", "has a name between double underscores, which are reserved", _RENAME)


def _tensor(name: str, entry: Any) -> TensorInfo:
    """The entry of one tensor. Raises _Defect."""
    if not isinstance(entry, dict):
        raise _Defect("F116", "is described by something else than a JSON object")
    if isinstance(entry, Repeated):
        raise _Defect("F113", f"has the field {quoted(entry.keys_repeated[0])} more than once")
    if entry.keys() != _FIELDS:
        if missing := _FIELDS - entry.keys():
            raise _Defect("F116", f'has no field "{min(missing)}"')
        raise _Defect("F117", f"has the unknown field {quoted(min(entry.keys() - _FIELDS))}")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    bits = DTYPE_BITS.get(dtype) if isinstance(dtype, str) else None
    if bits is None:
        shown = quoted(dtype) if isinstance(dtype, str) else "a value that is no string"
        raise _Defect("F118", f"has a dtype that the format does not know, {shown}")
    # type() and not isinstance(): True is an int; 1.0 and -0 arrive as floats.
    if type(shape) is not list or not _INT.issuperset(map(type, shape)) or (shape and min(shape) < 0):
        raise _Defect("F119", "has a shape that is not a list of integers from 0 up")
    if type(offsets) is not list or len(offsets) != 2 or not _INT.issuperset(map(type, offsets)):
        raise _Defect("F120", "has data_offsets that are not two integers")
    begin, end = offsets
    if not 0 <= begin <= end < _SIZE_LIMIT:
        raise _Defect("F120", "has data_offsets that do not satisfy 0 <= begin <= end < 2^63")
    size = _size_in_bits(shape, bits)
    if size % 8:
        raise _Defect("F123", f"has {size:,} bits, which is not a whole number of bytes")
    if size // 8 != end - begin:
        raise _Defect("F124", f"needs {size // 8:,} bytes, but its data_offsets span {end - begin:,}")
    return TensorInfo(name, dtype, tuple(shape), begin, end)


def _size_in_bits(shape: list[int], bits: int) -> int:
    """Bits that a tensor takes, 0 if a dimension is 0. Raises _Defect if the other dimensions overflow a
    64-bit number: the reference implementation multiplies in order, so it notices only if the 0 comes
    late."""
    size = bits
    for length in shape:
        if length:
            size *= length
        if size >= _SIZE_LIMIT:
            if 0 in shape:
                raise _Defect("F122", "is empty, but its other dimensions multiply to 2^63 bits or more")
            raise _Defect("F121", "has a shape that multiplies to 2^63 bits or more")
    return 0 if 0 in shape else size


def _check_layout(tensors: dict[str, TensorInfo], data_start: int, file_size: int, found: Findings) -> None:
    """The tensors cover the data section once, and the data section ends with the file."""
    expected = 0
    for tensor in sorted(tensors.values(), key=lambda tensor: (tensor.begin, tensor.end)):
        if tensor.begin != expected:
            code, kind = (
                ("F125", "leaves a hole") if tensor.begin > expected else ("F126", "overlaps another")
            )
            fact = f"begins at data byte {tensor.begin:,}, where {expected:,} comes next"
            found.add(code, f"tensor {quoted(tensor.name)} {kind}: it {fact}", _SAVE, tensor=tensor.name)
        expected = max(expected, tensor.end)
    if found:
        return
    should_be = data_start + expected
    if file_size < should_be:
        fact = f"{should_be - file_size:,} of {should_be:,} bytes are missing at the end"
        found.add("F127", fact, "the download or copy was cut off: repeat it")
    elif file_size > should_be:
        fact = f"{file_size - should_be:,} bytes follow the data of the last tensor"
        found.add("F128", fact, f"nothing describes them; {_SAVE}")


def _warn(header: Header, file_size: int, found: Findings) -> None:
    if header.length % 8:
        fact = f"the header has {header.length:,} bytes, not a multiple of 8, so the data is not aligned"
        found.add("F140", fact, "pad the header with spaces, as safetensors.torch.save_file does")
    if header.length > max(_SMALL_HEADER, _LONG_ENTRY * len(header.tensors), file_size // 100):
        fact = f"the header has {header.length:,} of the {file_size:,} bytes of the file"
        found.add("F141", fact, "look for padding or metadata that does not belong in a release")
