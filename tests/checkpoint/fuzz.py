"""Seeded fuzzing of the header reader against the safetensors library.

    python -m tests.checkpoint.fuzz --seed 1 --count 1000000

Every file is a small good one with some mutations, of its bytes or of the JSON in its header. The reader must
never raise, never accept what the library refuses, and never take long or keep memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import safetensors

from zoo.checkpoint.content import SNIFFED_BYTES
from zoo.checkpoint.safetensors import DTYPE_BITS, HEADER_LIMIT, parse_header

NUMBERS = (0, 1, -1, 2, 3, 7, 8, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 0.5, 1e300)
TEXTS = ("", "a", "__metadata__", "fc.weight", "../x", "a\0b", "\u202e", "\ud800", "x" * 300, "F32", "bf16")
BYTES = b'{}[]",:0123456789.eE+-\\ntfu\x00\x09\x0a\x20\x7f\x80\xc3\xef\xff'


def good(rng: random.Random) -> tuple[dict[str, Any], bytes]:
    """The header and data of a small file that every reader accepts."""
    header: dict[str, Any] = {}
    end = 0
    for index in range(rng.randint(1, 4)):
        dtype = rng.choice(list(DTYPE_BITS))
        shape = [rng.choice((1, 2, 4, 8)) for _ in range(rng.randint(1, 3))]
        shape[-1] *= 4  # F4 and F6 fill whole bytes
        size = DTYPE_BITS[dtype]
        for length in shape:
            size *= length
        begin, end = end, end + size // 8
        header[f"layers.{index}.weight"] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    if rng.random() < 0.3:
        header["__metadata__"] = {"format": "pt"}
    return header, bytes(end)


def framed(text: bytes, data: bytes, rng: random.Random) -> bytes:
    text += b" " * (-len(text) % 8 if rng.random() < 0.9 else 0)
    return len(text).to_bytes(8, "little") + text + data


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value, small."""
    kind = rng.randrange(7 if depth < 2 else 5)
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind == 1:
        return rng.choice(TEXTS)
    if kind == 2:
        return rng.choice((None, True, False))
    if kind in (3, 4):
        return rng.randrange(-3, 300)
    if kind == 5:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(TEXTS): value(rng, depth + 1) for _ in range(rng.randrange(3))}


def of_json(header: dict[str, Any], rng: random.Random) -> bytes:
    """The text of a header in which something was changed."""
    name = rng.choice(list(header))
    entry = header[name]
    match rng.randrange(10):
        case 0:
            header[rng.choice(TEXTS)] = header.pop(name)
        case 1:
            header[name] = value(rng)
        case 2:
            header["__metadata__"] = value(rng)
        case 3 if isinstance(entry, dict):
            entry[rng.choice(("dtype", "shape", "data_offsets", "extra"))] = value(rng)
        case 4 if isinstance(entry, dict) and entry:
            del entry[rng.choice(list(entry))]
        case 5 if isinstance(entry.get("data_offsets"), list):
            entry["data_offsets"][rng.randrange(2)] = rng.choice(NUMBERS)
        case 6 if isinstance(entry.get("shape"), list) and entry["shape"]:
            entry["shape"][0] = rng.choice(NUMBERS)
        case 7 if "dtype" in entry:
            entry["dtype"] = rng.choice((*DTYPE_BITS, "bf16", "F128", ""))
        case 8:
            text = json.dumps(header)
            return (text[:-1] + "," + json.dumps(name) + ":" + json.dumps(value(rng)) + "}").encode()
        case _:
            keys = list(header)
            rng.shuffle(keys)
            header = {key: header[key] for key in keys}
    return json.dumps(header, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def of_bytes(raw: bytes, rng: random.Random) -> bytes:
    """A file in which some bytes were changed, put in, taken out, cut off or appended."""
    held = bytearray(raw)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(held)) if held else 0
        match rng.randrange(6):
            case 0 if held:
                held[at] = rng.randrange(256)
            case 1 if held:
                held[at] ^= 1 << rng.randrange(8)
            case 2:
                held[at:at] = bytes(rng.choice(BYTES) for _ in range(rng.randint(1, 4)))
            case 3:
                del held[at : at + rng.randint(1, 4)]
            case 4:
                del held[at:]
            case _:
                length = rng.choice((0, 1, 7, len(held), 2**31, 2**63, HEADER_LIMIT + 1, rng.randrange(300)))
                held[:8] = length.to_bytes(8, "little")
    return bytes(held)


def files(seed: int, count: int) -> Iterator[bytes]:
    """``count`` mutated files, always the same for a seed."""
    rng = random.Random(seed)
    for _ in range(count):
        header, data = good(rng)
        if rng.random() < 0.6:
            for _ in range(rng.randint(0, 2)):
                try:
                    of_json(header, rng)
                except (AttributeError, TypeError, IndexError):
                    break  # the first change left nothing to change
            try:
                raw = framed(of_json(header, rng), data, rng)
            except (AttributeError, TypeError, IndexError):
                raw = framed(json.dumps(header, ensure_ascii=True).encode(), data, rng)
        else:
            raw = framed(json.dumps(header).encode(), data, rng)
        yield of_bytes(raw, rng) if rng.random() < 0.6 else raw


def verdict(raw: bytes) -> tuple[bool, bool]:
    """Whether our reader and the library accept the file."""
    length = int.from_bytes(raw[:8], "little")
    whole = len(raw) >= 8 and 0 < length <= min(HEADER_LIMIT, len(raw) - 8)
    header, _ = parse_header(raw[: 8 + length] if whole else raw[:SNIFFED_BYTES], len(raw), "file")
    try:
        safetensors.deserialize(raw)
    except safetensors.SafetensorError:
        return header is not None, False
    return header is not None, True


def run(seed: int, count: int) -> Counter[tuple[bool, bool]]:
    """Counts of (ours accepts, the library accepts).

    Raises:
        AssertionError: ours accepts what the library refuses.
    """
    found: Counter[tuple[bool, bool]] = Counter()
    for index, raw in enumerate(files(seed, count)):
        ours, theirs = verdict(raw)
        assert theirs or not ours, f"seed {seed}, file {index}: the library refuses {raw!r}"
        found[ours, theirs] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1_000_000)
    given = parser.parse_args()
    started, memory = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found: Counter[tuple[bool, bool]] = Counter()
    step = max(1, given.count // 20)
    for part in range(0, given.count, step):
        found += run(given.seed + part, min(step, given.count - part))
        print(f"{sum(found.values()):,} files, {time.monotonic() - started:.0f} s", flush=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    both, strict, neither = found[True, True], found[False, True], found[False, False]
    print(
        f"accepted by both {both:,}; refused by us alone {strict:,}; refused by both {neither:,}; "
        f"{grown:,} kB grown"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
