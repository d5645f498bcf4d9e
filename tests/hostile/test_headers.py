"""Headers and indexes that claim gigantic sizes, overflow, or hold far too much."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ci.example import Work
from tests.hostile.kit import Judged, judge, recipe_of

_TENSOR = {"dtype": "BF16", "shape": [64, 192], "data_offsets": [0, 24576]}
_EMPTY = b'{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'


def header(text: bytes, length: int | None = None) -> bytes:
    """A weights file of this header, and the length that it states."""
    text += b" " * (-len(text) % 8)
    return (len(text) if length is None else length).to_bytes(8, "little") + text


def tensor(**changes: object) -> bytes:
    return header(json.dumps({"fc.weight": _TENSOR | changes}).encode()) + b"\0" * 24576


# The content of model.safetensors, and the codes of a draft that has it.
WEIGHTS: dict[str, tuple[bytes, set[str]]] = {
    "length-2-to-the-63": (header(b"{}", 2**63), {"F104"}),
    "length-2-to-the-64-less-1": (header(b"{}", 2**64 - 1), {"F104"}),
    "length-over-the-limit": (header(b"{}", 10**8 + 1), {"F104"}),
    "length-beyond-the-file": (header(b"{}", 10**7), {"F102"}),
    "cut-off": (header(b'{"a":', 5)[:6], {"F101"}),
    "offset-of-2-to-the-63": (tensor(data_offsets=[0, 2**63]), {"F120"}),
    "offset-below-zero": (tensor(data_offsets=[-1, 24575]), {"F120"}),
    "offsets-reversed": (tensor(data_offsets=[24576, 0]), {"F120"}),
    "offsets-of-another-kind": (tensor(data_offsets=[True, 24576.0]), {"F120"}),
    "offset-beyond-the-file": (tensor(data_offsets=[24576, 49152]), {"F125"}),
    "product-that-overflows": (tensor(shape=[2**40, 2**40]), {"F121"}),
    "product-hidden-by-a-zero": (tensor(shape=[0, 2**62]), {"F122"}),
    "shape-below-zero": (tensor(shape=[-64, -192]), {"F119"}),
    "shape-of-100000-dimensions": (tensor(shape=[1] * 100_000), {"F124"}),
    "dtype-of-a-kilobyte": (tensor(dtype="F" * 1_000), {"F118"}),
    "number-of-100000-digits": (
        header(b'{"fc.weight":{"dtype":"BF16","shape":[' + b"9" * 100_000 + b'],"data_offsets":[0,0]}}'),
        {"F105"},
    ),
    "a-million-lists": (header(b'{"a":[' + b"[]," * 1_000_000 + b"[]]}"), {"F105"}),
    "a-million-tensors": (
        header(b"{" + b",".join([b'"t":' + _EMPTY] * 1_000_000) + b"}"),
        {"F105"},
    ),
    "five-megabytes-of-metadata": (header(b'{"__metadata__":{"a":"' + b"x" * 5_000_000 + b'"}}'), {"F132"}),
}


@pytest.fixture(scope="module")
def judged(clones: Callable[[], Work]) -> Judged:
    """All of them in one pull request, which is not committed: that would only cost time."""
    work = clones()
    for name, (content, _) in WEIGHTS.items():
        (recipe_of(work, name, files=True) / "model.safetensors").write_bytes(content)
    return judge(work, commit=False)


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_header_that_claims_too_much_is_refused(judged: Judged, name: str) -> None:
    assert judged.codes[name] == WEIGHTS[name][1] | {"K001"}


def test_a_header_of_100_megabytes_is_read_once_and_not_understood(clones: Callable[[], Work]) -> None:
    work = clones()
    size = 99_999_992
    with (work.root / "drafts/fourth/model.safetensors").open("wb") as file:
        file.write(size.to_bytes(8, "little") + b"[" * size)
    assert judge(work, commit=False).codes == {"fourth": {"F105"}}


def index(folder: Path, shards: list[str]) -> None:
    entries = ",".join(f'"t{number}":"{shard}"' for number, shard in enumerate(shards))
    (folder / "model.safetensors.index.json").write_text(f'{{"weight_map":{{{entries}}}}}')


def test_an_index_names_a_million_shards_or_a_path(clones: Callable[[], Work]) -> None:
    work = clones()
    index(recipe_of(work, "million", files=True), ["model-00001-of-1000000.safetensors"] * 1_000_001)
    thousand = [f"model-{number:04}.safetensors" for number in range(1_000)]
    index(recipe_of(work, "thousand", files=True), thousand)
    index(recipe_of(work, "above", files=True), ["../../fourth/model.safetensors"])
    index(recipe_of(work, "absolute", files=True), ["/etc/passwd"])
    assert judge(work, commit=False).codes == {
        "million": {"F201", "K001"},
        "thousand": {"F204", "F205", "K001"},
        "above": {"X009", "K001"},
        "absolute": {"X009", "K001"},
    }
