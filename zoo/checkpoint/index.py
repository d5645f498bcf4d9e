"""``model.safetensors.index.json``: which shard holds which tensor, and whether that is true.

With an index, engines load the shards that it names and silently drop every other ``*.safetensors`` file.
Without one, SGLang loads all of them, in the order of the file system, and the last one wins.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from zoo.checkpoint.collect import Findings
from zoo.checkpoint.jsonfile import JsonCodes, pointer, read_json
from zoo.checkpoint.model import WeightsFile
from zoo.printable import quoted
from zoo.results import Finding

INDEX_NAME = "model.safetensors.index.json"
SIZE_LIMIT = 64 * 1024 * 1024  # 100,000 tensors need about 10 MB
_CODES = JsonCodes(unreadable="F201", duplicate="F202", non_finite="F201")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")
_SAVE = "write shards and index together: model.save_pretrained(folder, max_shard_size=...)"


class Index(NamedTuple):
    """``weight_map``: tensor name -> shard file name. ``total_size``: as stated, in bytes of data, or
    None."""

    weight_map: Mapping[str, str]
    total_size: int | float | None

    @property
    def shards(self) -> frozenset[str]:
        return frozenset(self.weight_map.values())


def read_index(path: Path) -> tuple[Index | None, tuple[Finding, ...]]:
    """Read the index at ``path``. Never raises. None if it cannot be relied on to say which shards are
    loaded."""
    value, findings = read_json(path, INDEX_NAME, _CODES, size_limit=SIZE_LIMIT)
    if value is None or findings:
        return None, findings
    found = Findings(INDEX_NAME)
    index = _parse(value, found)
    return (None if found else index), findings + found.result()


def _parse(value: dict[str, Any], found: Findings) -> Index | None:
    weight_map = value.get("weight_map")
    metadata = value.get("metadata", {})
    if not isinstance(weight_map, dict) or not weight_map:
        fact = '"weight_map" is not an object that maps tensor names to shards'
        found.add("F203", fact, _SAVE, pointer="/weight_map")
        return None
    if not isinstance(metadata, dict):
        found.add("F203", '"metadata" is not an object', _SAVE, pointer="/metadata")
        return None
    for tensor, shard in weight_map.items():
        at = pointer("weight_map", tensor)
        if not isinstance(shard, str):
            fact = f"tensor {quoted(tensor)} is mapped to something else than a file name"
            found.add("F203", fact, _SAVE, pointer=at, tensor=tensor)
        elif not _PLAIN_NAME.fullmatch(shard):
            fact = f"tensor {quoted(tensor)} is mapped to {quoted(shard)}, which is not a plain file name"
            found.add("X009", fact, "name files of the folder itself only", pointer=at, tensor=tensor)
        elif not shard.endswith(".safetensors"):
            fact = f"tensor {quoted(tensor)} is mapped to {quoted(shard)}, which is not a *.safetensors file"
            found.add("F203", fact, _SAVE, pointer=at, tensor=tensor)
    total = metadata.get("total_size")
    if total is not None and (isinstance(total, bool) or not isinstance(total, int | float)):
        found.add("F203", '"total_size" is not a number', _SAVE, pointer="/metadata/total_size")
    return Index(weight_map, total)


def compare(index: Index, weights: Sequence[WeightsFile], present: Collection[str]) -> tuple[Finding, ...]:
    """Compare ``index`` with the headers of ``weights``, all ``*.safetensors`` files of the folder.
    ``present`` are the names of all files, so that a shard which could not be read is not called missing as
    well."""
    found = Findings(INDEX_NAME)
    for shard in sorted(index.shards - set(present)):
        fact = f"the shard {quoted(shard)} that it names is not in the folder"
        found.add("F204", fact, "fetch the missing shard")
    loaded = [file for file in weights if file.name in index.shards]
    for file in weights:
        if file.name not in index.shards:
            fact = f"it does not name {quoted(file.name)}, so engines drop that file silently"
            found.add("F205", fact, f"remove the file, or list its tensors; {_SAVE}")
    holders = _holders(loaded)
    readable = {file.name for file in loaded if file.header is not None}
    for tensor, shard in index.weight_map.items():
        holding = holders.get(tensor, [])
        if shard in readable and shard not in holding:
            at = pointer("weight_map", tensor)
            if holding:
                fact = f"it places {quoted(tensor)} in {quoted(shard)}, but {quoted(holding[0])} holds it"
                found.add("F208", fact, _SAVE, pointer=at, tensor=tensor)
            else:
                fact = f"it lists {quoted(tensor)} in {quoted(shard)}, which does not hold it"
                found.add("F206", fact, _SAVE, pointer=at, tensor=tensor)
    for tensor, holding in holders.items():
        if tensor not in index.weight_map:
            fact = f"it does not list {quoted(tensor)}, which {quoted(holding[0])} holds"
            found.add("F207", fact, _SAVE, tensor=tensor)
    _check_total(index, loaded, found)
    return found.result() + _held_twice(holders)


def compare_unindexed(weights: Sequence[WeightsFile]) -> tuple[Finding, ...]:
    """What can be said of the ``*.safetensors`` files of a folder that has no index."""
    found = Findings(INDEX_NAME)
    incomplete = _missing_shards({file.name for file in weights})
    for shard in incomplete:
        fact = f"absent, and so is the shard {quoted(shard)} that the names of others count"
        found.add("F212", fact, "fetch the whole repository again")
    if len(weights) > 1 and not incomplete:
        fact = f"absent, although the folder has {len(weights)} *.safetensors files"
        found.add("F211", fact, f"keep one file, or {_SAVE}")
    return found.result() + _held_twice(_holders(weights))


def _holders(files: Iterable[WeightsFile]) -> Mapping[str, list[str]]:
    """Tensor name -> names of the files that hold it."""
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for file in files:
        for tensor in file.header.tensors if file.header else ():
            holders[tensor].append(file.name)
    return holders


def _held_twice(holders: Mapping[str, list[str]]) -> tuple[Finding, ...]:
    found: dict[str, Findings] = {}
    for tensor, files in holders.items():
        if len(files) > 1:
            others = ", ".join(quoted(name) for name in files[:-1])
            fact = f"it holds {quoted(tensor)} and so does {others}: the order of loading decides"
            found.setdefault(files[-1], Findings(files[-1])).add("F209", fact, _SAVE, tensor=tensor)
    return tuple(finding for each in found.values() for finding in each.result())


def _check_total(index: Index, loaded: list[WeightsFile], found: Findings) -> None:
    headers = [file.header for file in loaded if file.header is not None]
    complete = len(headers) == len(index.shards)
    actual = sum(header.data_nbytes for header in headers)
    if complete and index.total_size is not None and index.total_size != actual:
        fact = f'"total_size" is {index.total_size:,}, but the shards hold {actual:,} bytes of data'
        found.add("F210", fact, _SAVE, pointer="/metadata/total_size")


def _missing_shards(names: set[str]) -> list[str]:
    """Names that complete the sets ``PREFIX-00001-of-0000N.safetensors`` of which ``names`` has a part, at
    most twenty of them: the N of a file name is untrusted."""
    missing: list[str] = []
    sets = {(match[1], match[3]) for name in names if (match := _SHARD.fullmatch(name))}
    for prefix, total in sorted(sets):
        for number in range(1, int(total) + 1):
            shard = f"{prefix}-{number:05d}-of-{total}.safetensors"
            if shard not in names:
                missing.append(shard)
            if len(missing) == 20:
                return missing
    return missing
