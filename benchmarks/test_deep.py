"""How fast every byte is read: against openssl, which only hashes, and against what people do instead.

The file is the 6.96 GB stand-in of kimi-ft-v3 with random numbers, in the page cache. Needs 15 GB of disk.
"""

from __future__ import annotations

import compileall
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zoo
from benchmarks.ratios import Ratio, compare, wall
from zoo.cli import run

REPOSITORY = Path(__file__).parent.parent
ZOO = str(Path(sys.executable).with_name("zoo"))
WEIGHTS = "model.safetensors"
NEEDED = 15 * 10**9
# What a careful person writes: a hash, then a look at the numbers of each tensor.
PEER = """
import hashlib, json, sys
import numpy as np
path = sys.argv[1]
with open(path, "rb") as file:
    print(hashlib.file_digest(file, "sha256").hexdigest())
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    header = json.loads(file.read(length))
data = np.memmap(path, dtype="u1", mode="r", offset=8 + length)
for name, entry in header.items():
    if name != "__metadata__":
        begin, end = entry["data_offsets"]
        bits = data[begin:end].view("<u2")
        assert not ((bits & 0x7F80) == 0x7F80).any(), name
"""


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    compileall.compile_dir(Path(zoo.__file__).parent, quiet=2)
    folder = tmp_path_factory.mktemp("kimi") / "standin"
    if shutil.disk_usage(folder.parent).free < NEEDED:
        pytest.skip("needs 15 GB of disk")
    assert (
        run(["--zoo", str(REPOSITORY), "standin", "kimi-ft-v3", "--out", str(folder), "--fill", "random"])
        == 0
    )
    warm(folder / WEIGHTS)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def shards(draft: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same tensors in two files of about one size."""
    folder = tmp_path_factory.mktemp("kimi") / "shards"
    folder.mkdir()
    split(draft, folder)
    yield folder
    shutil.rmtree(folder)


def verify(folder: Path, *more: str) -> list[str]:
    return [ZOO, "verify", str(folder), "--deep", "--no-cache", *more]


def show(benchmark: Any, name: str, ratio: Ratio) -> float:
    benchmark.extra_info["ratio"] = ratio.median
    print(f"\n{name}: {ratio}")
    return ratio.median


def test_deep_takes_at_most_a_tenth_more_than_hashing(benchmark: Any, draft: Path) -> None:
    peer = ["openssl", "dgst", "-sha256", str(draft / WEIGHTS)]
    ratio = benchmark.pedantic(compare, (verify(draft), peer, 5), rounds=1, iterations=1)
    assert show(benchmark, "zoo verify --deep against openssl dgst -sha256", ratio) <= 1.10


def test_statistics_take_at_most_a_third_more_than_hashing(benchmark: Any, draft: Path) -> None:
    peer = ["openssl", "dgst", "-sha256", str(draft / WEIGHTS)]
    ratio = benchmark.pedantic(compare, (verify(draft, "--stats"), peer, 5), rounds=1, iterations=1)
    assert show(benchmark, "zoo verify --stats against openssl dgst -sha256", ratio) <= 1.35


def test_deep_is_faster_than_a_hash_and_then_a_look(benchmark: Any, draft: Path) -> None:
    peer = [sys.executable, "-c", PEER, str(draft / WEIGHTS)]
    ratio = benchmark.pedantic(compare, (verify(draft), peer, 3), rounds=1, iterations=1)
    assert show(benchmark, "zoo verify --deep against file_digest and numpy", ratio) < 1


def test_an_unchanged_file_takes_header_level_time(benchmark: Any, draft: Path) -> None:
    time.sleep(2)  # older than a tick of the file system's clock
    again = [ZOO, "verify", str(draft), "--deep"]
    wall(again)
    ratio = benchmark.pedantic(compare, (again, [ZOO, "verify", str(draft)], 9), rounds=1, iterations=1)
    assert show(benchmark, "the second zoo verify --deep against header level", ratio) <= 2.0


def test_two_shards_gain_what_two_processes_gain(benchmark: Any, shards: Path) -> None:
    files = sorted(shards.glob("*.safetensors"))
    after = " && ".join(f"openssl dgst -sha256 {file}" for file in files)
    beside = " & ".join(f"openssl dgst -sha256 {file}" for file in files) + " & wait"
    gains, ours = [], []
    for _ in range(3):
        one = wall(["bash", "-c", after])
        gains.append(one / wall(["bash", "-c", beside]))
        ours.append(one / wall(verify(shards)))
    gain, mine = sorted(gains)[1], sorted(ours)[1]
    benchmark.pedantic(lambda: None, rounds=1, iterations=1)
    benchmark.extra_info["ratio"] = mine / gain
    print(f"\ntwo shards: {mine:.2f}x of hashing one after the other; two openssl processes gain {gain:.2f}x")
    assert mine >= 0.85 * gain


def test_memory_is_flat(benchmark: Any, draft: Path) -> None:
    code = (
        "import re, sys, zoo.cli; zoo.cli.run(sys.argv[1:]);"
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1], file=sys.stderr)"
    )
    ran = benchmark.pedantic(
        subprocess.run,
        ([sys.executable, "-c", code, *verify(draft)[1:]],),
        {"capture_output": True, "text": True, "check": True},
        rounds=1,
        iterations=1,
    )
    peak = int(ran.stderr.split()[-1]) / 1000
    print(f"\npeak memory of zoo verify --deep: {peak:.0f} MB")
    assert peak <= 250


def test_a_header_of_100_000_tensors_is_linear(benchmark: Any, tmp_path: Path) -> None:
    """Parsing, within twice json.loads of the same text; both in one process."""
    from zoo.checkpoint.safetensors import parse_header

    def text(count: int) -> bytes:
        entries = {
            f"layers.{index}.weight": {
                "dtype": "BF16",
                "shape": [4],
                "data_offsets": [8 * index, 8 * index + 8],
            }
            for index in range(count)
        }
        raw = json.dumps(entries).encode()
        raw += b" " * (-len(raw) % 8)
        return len(raw).to_bytes(8, "little") + raw

    def seconds(count: int) -> tuple[float, float]:
        raw = text(count)
        started = time.perf_counter()
        header, _ = parse_header(raw, len(raw) + 8 * count, "file")
        ours = time.perf_counter() - started
        assert header is not None
        started = time.perf_counter()
        json.loads(raw[8:])
        return ours, time.perf_counter() - started

    few, many = min(seconds(10_000) for _ in range(3)), min(seconds(100_000) for _ in range(3))
    benchmark.pedantic(lambda: None, rounds=1, iterations=1)
    benchmark.extra_info["ratio"] = many[0] / many[1]
    growth, theirs = many[0] / few[0], many[1] / few[1]
    ratio = many[0] / many[1]
    print(
        f"\n100,000 tensors: {ratio:.2f}x of json.loads; ten times more: {growth:.1f}x, theirs {theirs:.1f}x"
    )
    assert many[0] <= 2 * many[1]
    assert growth <= 2 * theirs  # linear, as json.loads is


def warm(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def split(draft: Path, out: Path) -> None:
    """Two shards and their index, without holding the data in memory."""
    from zoo.checkpoint.folder import open_checkpoint
    from zoo.checkpoint.writer import header_bytes
    from zoo.drafts import TensorSpec

    held = open_checkpoint(draft, str(draft))
    names, half = sorted(held.tensors), held.data_nbytes // 2
    parts: list[list[str]] = [[], []]
    total = 0
    for name in names:
        parts[total >= half].append(name)
        total += held.tensors[name].nbytes
    weight_map = {}
    with (draft / WEIGHTS).open("rb") as source:
        for number, part in enumerate(parts, 1):
            file = f"model-0000{number}-of-00002.safetensors"
            specs = {name: TensorSpec(held.tensors[name].dtype, held.tensors[name].shape) for name in part}
            with (out / file).open("wb") as target:
                target.write(header_bytes(specs, held.metadata))
                for name in part:
                    source.seek(held.data_start[name])
                    left = held.tensors[name].nbytes
                    while left:
                        chunk = source.read(min(left, 1 << 24))
                        target.write(chunk)
                        left -= len(chunk)
                    weight_map[name] = file
            warm(out / file)
    shutil.copyfile(draft / "config.json", out / "config.json")
    (out / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": held.data_nbytes}, "weight_map": weight_map})
    )
