"""One pass over every byte: digests, and NaN, Inf, zero and constant in every dtype at every edge of a
buffer."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from zoo.checkpoint import scan as scans
from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.safetensors import DTYPE_BITS
from zoo.checkpoint.scan import FLOATS, DeepPass, Scan, scan_checkpoint
from zoo.errors import UnreadableError

# dtype -> patterns of NaN, of Inf, of zero, and of a finite number that looks most like one of them.
PATTERNS = {
    "BF16": ([0x7F81, 0xFF81, 0x7FFF, 0xFFC0], [0x7F80, 0xFF80], [0, 0x8000], [0x7F7F, 0xFF7F, 0x0001]),
    "F16": ([0x7C01, 0xFC01, 0x7FFF, 0xFE00], [0x7C00, 0xFC00], [0, 0x8000], [0x7BFF, 0xFBFF, 0x0001]),
    "F32": ([0x7F800001, 0xFF800001, 0xFFFFFFFF], [0x7F800000, 0xFF800000], [0, 1 << 31], [0x7F7FFFFF, 1]),
    "F64": (
        [0x7FF << 52 | 1, 0xFFF << 52 | 1, 2**64 - 1],
        [0x7FF << 52, 0xFFF << 52],
        [0, 1 << 63],
        [0x7FEF << 48, 1],
    ),
    "F8_E5M2": ([0x7D, 0x7E, 0x7F, 0xFD, 0xFF], [0x7C, 0xFC], [0, 0x80], [0x7B, 0xFB, 1]),
    "F8_E4M3": ([0x7F, 0xFF], [], [0, 0x80], [0x7E, 0xFE, 1]),
    "F8_E5M2FNUZ": ([0x80], [], [0], [0x7F, 0x81, 0xFF]),
    "F8_E4M3FNUZ": ([0x80], [], [0], [0x7F, 0x81, 0xFF]),
    "F8_E8M0": ([0xFF], [], [], [0xFE, 0x80, 0x00]),
}
CHUNK = 64


@pytest.fixture(autouse=True)
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "CHUNK", CHUNK)


def write(
    folder: Path, tensors: dict[str, tuple[str, list[int], bytes]], name: str = "model.safetensors"
) -> None:
    """A safetensors file of raw bytes: dtypes that no library writes included."""
    header, data = {}, b""
    for tensor, (dtype, shape, raw) in tensors.items():
        header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / name).write_bytes(len(text).to_bytes(8, "little") + text + data)


def scan(folder: Path) -> Scan:
    checkpoint = open_checkpoint(folder, "it")
    assert checkpoint.weights[0].header is not None, checkpoint.findings
    return scan_checkpoint(checkpoint, checkpoint.files)


def unsigned(dtype: str) -> np.dtype:
    return np.dtype(f"<u{DTYPE_BITS[dtype] // 8}")


@pytest.mark.parametrize("dtype", PATTERNS)
def test_nan_and_inf_are_counted_at_every_position_around_every_buffer_edge(
    tmp_path: Path, dtype: str
) -> None:
    kind, (nans, infs, zeros, finite) = unsigned(dtype), PATTERNS[dtype]
    count = 3 * CHUNK // kind.itemsize + 1  # the last element stands alone in the last buffer
    tensors: dict[str, tuple[str, list[int], bytes]] = {"odd": ("U8", [3], b"\1\2\3")}
    expected = {}
    for position in range(count):
        pattern = (nans + infs)[position % len(nans + infs)]
        numbers = np.resize(np.array(finite + zeros, kind), count)
        numbers[position] = pattern
        tensors[f"t{position}"] = (dtype, [count], numbers.tobytes())
        expected[f"t{position}"] = (int(pattern in nans), int(pattern in infs))
    write(tmp_path, tensors)
    found = scan(tmp_path).tensors
    assert {name: (found[name].nan, found[name].inf) for name in expected} == expected
    assert not any(tensor.zero or tensor.constant for tensor in found.values())


@pytest.mark.parametrize("dtype", PATTERNS)
def test_every_pattern_is_what_the_format_says(tmp_path: Path, dtype: str) -> None:
    kind, (nans, infs, zeros, finite) = unsigned(dtype), PATTERNS[dtype]
    everything = np.array(nans + infs + zeros + finite, kind)
    write(tmp_path, {"t": (dtype, [len(everything)], everything.tobytes())})
    found = scan(tmp_path).tensors["t"]
    assert (found.nan, found.inf) == (len(nans), len(infs))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32", "F64", "F8_E5M2", "F8_E4M3"])
def test_all_numbers_of_a_format_agree_with_a_reference(tmp_path: Path, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    kinds = {"F8_E5M2": torch.float8_e5m2, "F8_E4M3": torch.float8_e4m3fn, "BF16": torch.bfloat16}
    generator = np.random.default_rng(1)
    if DTYPE_BITS[dtype] <= 16:
        bits = np.arange(2 ** DTYPE_BITS[dtype], dtype=unsigned(dtype))
    else:
        bits = generator.integers(0, 2 ** DTYPE_BITS[dtype], 4001, unsigned(dtype), endpoint=False)
        bits[::7] = np.array(np.inf, f"<f{DTYPE_BITS[dtype] // 8}").view(bits.dtype)
        bits[::5] |= np.array(np.inf, f"<f{DTYPE_BITS[dtype] // 8}").view(bits.dtype)
    write(tmp_path, {"t": (dtype, [len(bits)], bits.tobytes())})
    found = scan(tmp_path).tensors["t"]
    if dtype in kinds:
        numbers = (
            torch.from_numpy(bits.view(f"<i{bits.dtype.itemsize}").copy()).view(kinds[dtype]).double().numpy()
        )
    else:
        numbers = bits.view(f"<f{bits.dtype.itemsize}")
    assert (found.nan, found.inf) == (np.isnan(numbers).sum(), np.isinf(numbers).sum())


def test_complex_numbers_are_two_floats_each_and_constant_as_a_whole(tmp_path: Path) -> None:
    numbers = np.array([complex(1, np.nan), complex(np.inf, np.nan), 0], "<c8")
    same = np.full(40, 1 + 2j, "<c8")
    write(tmp_path, {"t": ("C64", [3], numbers.tobytes()), "same": ("C64", [40], same.tobytes())})
    found = scan(tmp_path).tensors
    assert (found["t"].nan, found["t"].inf) == (2, 1)
    assert found["same"].constant
    assert not found["same"].zero


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPE_BITS if dtype not in FLOATS])
def test_integers_booleans_and_floats_below_a_byte_have_no_nan(tmp_path: Path, dtype: str) -> None:
    raw = b"\xff" * 96
    write(tmp_path, {"t": (dtype, [len(raw) * 8 // DTYPE_BITS[dtype]], raw)})
    found = scan(tmp_path).tensors["t"]
    assert (found.nan, found.inf, found.zero, found.constant) == (0, 0, False, True)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPE_BITS if dtype != "F8_E8M0"])
@pytest.mark.parametrize("position", [None, 0, 63, 64, 127, 128, 191])
def test_all_zero_is_found_and_one_bit_in_any_buffer_is_enough_against_it(
    tmp_path: Path, dtype: str, position: int | None
) -> None:
    raw = bytearray(192)
    if position is not None:
        raw[position] = 1
    write(tmp_path, {"t": (dtype, [len(raw) * 8 // DTYPE_BITS[dtype]], bytes(raw))})
    found = scan(tmp_path).tensors["t"]
    assert found.zero == found.constant == (position is None)


def test_zeros_of_both_signs_are_all_zero_and_not_constant(tmp_path: Path) -> None:
    write(tmp_path, {"t": ("BF16", [2], b"\0\0\0\x80"), "u": ("U16", [2], b"\0\0\0\x80")})
    found = scan(tmp_path).tensors
    assert (found["t"].zero, found["t"].constant) == (True, False)
    assert not found["u"].zero


def test_e8m0_has_no_zero(tmp_path: Path) -> None:
    write(tmp_path, {"t": ("F8_E8M0", [4], bytes(4))})
    found = scan(tmp_path).tensors["t"]
    assert (found.zero, found.constant) == (False, True)


def test_a_tensor_without_elements_shows_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"t": ("BF16", [0, 4], b""), "u": ("BF16", [1], b"\x80\x3f")})
    found = scan(tmp_path).tensors["t"]
    assert (found.nan, found.inf, found.zero, found.constant) == (0, 0, False, False)


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 3])
def test_digests_are_those_of_the_whole_files(tmp_path: Path, size: int) -> None:
    write(tmp_path, {"a": ("U8", [size + 1], os.urandom(size + 1)), "b": ("F32", [3], os.urandom(12))})
    (tmp_path / "report.pdf").write_bytes(os.urandom(size))
    found = scan(tmp_path).files
    assert sorted(found) == ["model.safetensors", "report.pdf"]
    for name, digest in found.items():
        raw = (tmp_path / name).read_bytes()
        assert (digest.path, digest.size, digest.sha256) == (name, len(raw), hashlib.sha256(raw).hexdigest())


def test_a_file_that_is_no_safetensors_file_is_still_hashed(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"not weights at all")
    checkpoint = open_checkpoint(tmp_path, "it")
    found = scan_checkpoint(checkpoint, checkpoint.files)
    assert found.files["model.safetensors"].size == 18
    assert found.tensors == {}


def test_progress_adds_up_to_the_data(tmp_path: Path) -> None:
    write(tmp_path, {"a": ("U8", [200], bytes(200)), "b": ("F32", [3], bytes(12))})
    checkpoint, told = open_checkpoint(tmp_path, "it"), []
    scan_checkpoint(checkpoint, checkpoint.files, DeepPass(progress=told.append))
    assert sum(told) == 212


@pytest.mark.parametrize("how", ["grow", "cut", "same size", "replace"])
def test_a_file_that_changes_while_it_is_read_is_not_judged(tmp_path: Path, how: str) -> None:
    write(tmp_path, {"a": ("U8", [500], bytes(500))})
    file = tmp_path / "model.safetensors"
    raw, checkpoint = file.read_bytes(), open_checkpoint(tmp_path, "it")

    def change(_: int) -> None:
        if how == "replace":
            (tmp_path / "new").write_bytes(raw)
            (tmp_path / "new").rename(file)
        else:
            with file.open("r+b") as opened:
                opened.truncate(len(raw) + {"grow": 1, "cut": -1, "same size": 0}[how])
                os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))

    with pytest.raises(UnreadableError, match="changed while it was read"):
        scan_checkpoint(checkpoint, checkpoint.files, DeepPass(progress=change))


@pytest.mark.parametrize("how", ["other header", "other size"])
def test_a_file_that_changed_after_it_was_opened_is_not_judged(tmp_path: Path, how: str) -> None:
    write(tmp_path, {"a": ("U8", [500], bytes(500))})
    checkpoint = open_checkpoint(tmp_path, "it")
    file = tmp_path / "model.safetensors"
    raw = file.read_bytes()
    file.write_bytes(raw.replace(b'"a"', b'"b"') if how == "other header" else raw + b"\0")
    with pytest.raises(UnreadableError, match="changed while it was read"):
        scan_checkpoint(checkpoint, checkpoint.files)


def test_a_file_that_is_gone_or_unknown_is_unreadable(tmp_path: Path) -> None:
    write(tmp_path, {"a": ("U8", [5], bytes(5))})
    checkpoint = open_checkpoint(tmp_path, "it")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(UnreadableError, match="cannot be read"):
        scan_checkpoint(checkpoint, checkpoint.files)
    with pytest.raises(UnreadableError, match="is not a file of"):
        scan_checkpoint(checkpoint, ["other"])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory from /proc")
def test_memory_stays_flat_whatever_the_size(tmp_path: Path) -> None:
    size = 512 * 1024 * 1024
    header = json.dumps({"a": {"dtype": "BF16", "shape": [size // 2], "data_offsets": [0, size]}}).encode()
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(file.tell() + size)
    code = f"""
import re
from pathlib import Path
from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.scan import scan_checkpoint
checkpoint = open_checkpoint(Path({str(tmp_path)!r}), "it")
assert scan_checkpoint(checkpoint, checkpoint.files).tensors["a"].zero
# Not ru_maxrss, which a child inherits from the process that started it.
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 200 * 1024 * 1024


def test_shards_are_scanned_together(tmp_path: Path) -> None:
    write(tmp_path, {"a": ("BF16", [1], b"\x80\x7f")}, "model-00001-of-00002.safetensors")
    write(tmp_path, {"b": ("BF16", [1], b"\xc0\x7f")}, "model-00002-of-00002.safetensors")
    found = scan(tmp_path).tensors
    assert (found["a"].inf, found["b"].nan) == (1, 1)
    assert found["b"].file == "model-00002-of-00002.safetensors"
