"""The target model by its own files: config, special tokens, tokenizer, and where its embedding is.

Only small files and headers are read. Rows of the embedding are read by :func:`rows_like`, one chunk at a
time, and only when a deep verification asks for it.

    target, reason, findings = open_target(Path("models/Kimi-K2.7-Code"), "models/Kimi-K2.7-Code")
    target.layers, target.rows, target.special_ids
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.index import INDEX_NAME, read_index
from zoo.checkpoint.jsonfile import JsonCodes, MalformedJson, decode, read_json
from zoo.checkpoint.listing import list_files
from zoo.checkpoint.safetensors import read_header
from zoo.digests import sha256_hex
from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.results import Finding, Where

# The largest tokenizer.json in use have about 35 MB.
_TOKENIZER_LIMIT = 48 * 1024 * 1024
_TOKENIZER_VALUES = 5_000_000  # 500,000 merges with two tokens each, and 260,000 tokens
_CODES = JsonCodes("C110", "C110", "C110")
# Where multimodal models keep the config of their language model, in the order in which engines look.
_NESTED = ("text_config", "thinker_config", "llm_config", "language_config")
# The usual key first, then those of older models.
_LAYERS = ("num_hidden_layers", "n_layer", "num_layers")
_WIDTH = ("hidden_size", "n_embd", "d_model")
_VOCABULARY = ("vocab_size", "padded_vocab_size")
_CONTEXT = ("max_position_embeddings", "seq_length")
_EMBEDDING = re.compile(r"(?:^|\.)(?:embed_tokens|word_embeddings|tok_embeddings|wte)\.weight$")
_INSIDE = re.compile(r"(?:^|\.)(?:layers|mtp|visual|vision_tower|audio_tower)\.")
_ID = re.compile(r"[0-9]{1,12}")
_SPECIAL = ("bos", "eos", "pad", "unk")


class Embedding(NamedTuple):
    """Where the embedding of the tokens is: ``start`` is the offset of row 0 in ``path``, a row has
    ``row_bytes``."""

    path: Path
    tensor: str
    rows: int
    row_bytes: int
    start: int


@dataclass(frozen=True)
class TargetModel:
    """What the target's files say. ``folder`` is where they are, as the user called it, up to the last slash.

    ``pointer`` is where in config.json the language model is described, e.g. ``/text_config``;
    ``model_type`` is that of the language model, "" where config.json states none;
    ``special_ids`` maps a token id to the name of its role (bos, eos, pad, unk); ``tokens`` maps the text of
    an added token to its id; ``tokenizer_sha256`` is "" without a tokenizer.json, ``embedding`` None where no
    header shows one.
    """

    folder: str
    layers: int
    hidden_size: int
    vocab_size: int
    max_position_embeddings: int | None
    pointer: str = ""
    model_type: str = ""
    special_ids: Mapping[int, str] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    tokenizer_sha256: str = ""
    embedding: Embedding | None = None

    def where(self, file: str = "config.json") -> Where:
        """A file of the target; in config.json, the part that describes the language model."""
        return Where(self.folder + file, pointer=(self.pointer or None) if file == "config.json" else None)


def open_target(path: Path, source: str) -> tuple[TargetModel | None, str, tuple[Finding, ...]]:
    """The target whose folder or config.json is ``path``: the target, or None and the reason, and the
    findings (code C110) about files that cannot be understood.

    Raises:
        UnreadableError: there is no such folder or file.
    """
    if path.is_file():
        return _with_config(path, {}, source[: source.rfind("/") + 1])
    try:
        files = list_files(path).files
    except OSError as error:
        hint = "give the folder of the target, or its config.json"
        raise UnreadableError(f"{quoted(source)} is not there or may not be read", hint=hint) from error
    if "config.json" not in files:
        hint = "give the folder of the target, or its config.json"
        raise UnreadableError(f"{quoted(source)} has no config.json", hint=hint)
    return _with_config(path / "config.json", files, source.rstrip("/") + "/")


def rows_like(embedding: Embedding, row: int) -> tuple[int, ...]:
    """The other rows of the embedding whose bytes are those of ``row``, in increasing order. One pass in
    flat memory.

    Raises:
        UnreadableError: the file cannot be read, or is shorter than it was.
    """
    width = embedding.row_bytes
    per_chunk = max(1, 1024 * 1024 // width)
    found: list[int] = []
    try:
        with open_regular(embedding.path) as file:
            file.seek(embedding.start + row * width)
            wanted = _exactly(read_up_to(file, width), width)
            file.seek(embedding.start)
            for first in range(0, embedding.rows, per_chunk):
                count = min(per_chunk, embedding.rows - first)
                chunk = _exactly(read_up_to(file, count * width), count * width)
                at = (index for index in range(count) if chunk[index * width : (index + 1) * width] == wanted)
                found.extend(first + index for index in at)
    except OSError as error:
        raise UnreadableError(
            f"the target's embedding cannot be read ({error.strerror or error})",
            hint="check the target's folder",
        ) from error
    return tuple(index for index in found if index != row)


def _exactly(raw: bytes, count: int) -> bytes:
    if len(raw) != count:
        raise OSError("the file is shorter than its header says")
    return raw


def _with_config(
    path: Path, files: Mapping[str, int], shown: str
) -> tuple[TargetModel | None, str, tuple[Finding, ...]]:
    """The target whose config.json is ``path``; the folder ``shown`` has the other ``files``."""
    config, findings = read_json(path, f"{shown}config.json", _CODES)
    if config is None:
        return None, f"{shown}config.json could not be read", findings
    part, pointer = _language_model(config)
    layers, width, vocabulary = (_first_size(part, config, keys) for keys in (_LAYERS, _WIDTH, _VOCABULARY))
    if layers is None or width is None or vocabulary is None:
        reason = f"{shown}config.json does not state {_LAYERS[0]}, {_WIDTH[0]} and {_VOCABULARY[0]}"
        return None, reason, findings
    target = TargetModel(
        folder=shown,
        layers=layers,
        hidden_size=width,
        vocab_size=vocabulary,
        max_position_embeddings=_first_size(part, config, _CONTEXT),
        pointer=pointer,
        model_type=str(part.get("model_type") or config.get("model_type") or ""),
        special_ids=_special_ids(part, config),
    )
    target, more = _with_tokenizer(target, path.parent, files, shown)
    return replace(target, embedding=_embedding(path.parent, files)), "", (*findings, *more)


def _language_model(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The part of the config that describes the language model, and the JSON pointer to it."""
    part, pointer = config, ""
    while True:
        for key in _NESTED:
            inner = part.get(key)
            if isinstance(inner, Mapping) and (_first_size(inner, {}, _LAYERS) or "text_config" in inner):
                part, pointer = inner, f"{pointer}/{key}"
                break
        else:
            return part, pointer


def _first_size(part: Mapping[str, Any], whole: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    """The first positive integer under one of ``keys``; the language model's own config before the whole."""
    for level in (part, whole):
        for key in keys:
            if type(level.get(key)) is int and level[key] > 0:
                return int(level[key])
    return None


def _special_ids(*levels: Mapping[str, Any]) -> dict[int, str]:
    """Token id -> role, from ``bos_token_id`` and the like; an id may be one number or a list."""
    found: dict[int, str] = {}
    for level in levels:
        for role in _SPECIAL:
            stated = level.get(f"{role}_token_id")
            for token in stated if isinstance(stated, list) else [stated]:
                if type(token) is int:
                    found.setdefault(token, role)
    return found


def _with_tokenizer(
    target: TargetModel, folder: Path, files: Mapping[str, int], shown: str
) -> tuple[TargetModel, tuple[Finding, ...]]:
    """The target with what generation_config.json, tokenizer_config.json and tokenizer.json say of tokens."""
    findings: list[Finding] = []
    read: dict[str, Mapping[str, Any]] = {}
    for name in ("generation_config.json", "tokenizer_config.json"):
        if name in files:
            document, found = read_json(folder / name, shown + name, _CODES)
            findings.extend(found)
            read[name] = document or {}
    tokens, sha256, found = _tokenizer_json(folder, files, shown)
    findings.extend(found)
    settings = read.get("tokenizer_config.json", {})
    tokens = {**_added(settings.get("added_tokens_decoder")), **tokens}
    special = {**_special_ids(read.get("generation_config.json", {})), **target.special_ids}
    for role in _SPECIAL:
        text = settings.get(f"{role}_token")
        text = text.get("content") if isinstance(text, Mapping) else text
        if isinstance(text, str) and text in tokens:
            special.setdefault(tokens[text], role)
    return replace(target, special_ids=special, tokens=tokens, tokenizer_sha256=sha256), tuple(findings)


def _added(decoder: Any) -> dict[str, int]:
    """``added_tokens_decoder`` of tokenizer_config.json: text -> id."""
    entries = decoder.items() if isinstance(decoder, Mapping) else ()
    return {
        entry["content"]: int(token)
        for token, entry in entries
        # Longer than any id: int() refuses thousands of digits.
        if isinstance(entry, Mapping) and isinstance(entry.get("content"), str) and _ID.fullmatch(token)
    }


def _tokenizer_json(
    folder: Path, files: Mapping[str, int], shown: str
) -> tuple[dict[str, int], str, tuple[Finding, ...]]:
    """The added tokens of tokenizer.json and its sha256. Its vocabulary is not looked at."""
    name = "tokenizer.json"
    if name not in files:
        return {}, "", ()
    try:
        with open_regular(folder / name) as file:
            raw = read_up_to(file, _TOKENIZER_LIMIT + 1)
        document = decode(raw, values=_TOKENIZER_VALUES) if len(raw) <= _TOKENIZER_LIMIT else None
        reason = "" if isinstance(document, dict) else f"no JSON object of at most {_TOKENIZER_LIMIT:,} bytes"
    except (OSError, MalformedJson) as error:
        document, reason = None, str(error)
    if reason:
        message = f"{shown}{name}: {reason}"
        return {}, "", (Finding(message, "fetch the file again", Where(shown + name), code="C110"),)
    entries = document.get("added_tokens") if isinstance(document, dict) else None
    tokens = {
        entry["content"]: entry["id"]
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, Mapping)
        and isinstance(entry.get("content"), str)
        and type(entry.get("id")) is int
    }
    return tokens, sha256_hex(raw), ()


def _embedding(folder: Path, files: Mapping[str, int]) -> Embedding | None:
    """The embedding, from the header of the shard that the index names or, without an index, of the first
    file that has one. None where there is none that can be read."""
    if INDEX_NAME in files:
        index, _ = read_index(folder / INDEX_NAME)
        name = _embedding_name(index.weight_map if index is not None else {})
        shards = [index.weight_map[name]] if index is not None and name else []
    else:
        shards = [file for file in files if file.endswith(".safetensors") and "/" not in file]
    for shard in shards:
        if shard not in files:
            continue
        header, _ = read_header(folder / shard, shard)
        name = _embedding_name(header.tensors) if header is not None else ""
        if header is None or not name:
            continue
        tensor = header.tensors[name]
        if len(tensor.shape) == 2 and tensor.shape[0] and tensor.nbytes % tensor.shape[0] == 0:
            rows = tensor.shape[0]
            start = header.data_start + tensor.begin
            return Embedding(folder / shard, name, rows, tensor.nbytes // rows, start)
    return None


def _embedding_name(names: Mapping[str, Any]) -> str:
    """The name of the token embedding of the language model, "" without one."""
    found = [name for name in names if _EMBEDDING.search(name) and not _INSIDE.search(name)]
    return min(found, key=lambda name: (len(name), name), default="")
