"""The target's embedding and head, taken out of its shards once per trace.

Only these two tensors are read, by range: from a local folder, or from a repository of a hub. With them the
final states of a trace give the target's distribution, and a draft that borrows them needs no target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.model import Checkpoint, TensorInfo
from zoo.drafts import TensorSpec
from zoo.errors import UnreadableError, UsageError
from zoo.printable import quoted
from zoo.recipe.model import Target
from zoo.replay.trace import EMBEDDING, HEAD, LM_HEAD
from zoo.replay.writing import Recording, Written, rehash, write_tensors

_FLOATS = ("BF16", "F16", "F32")
# Names of transformers, under the prefix of a multimodal model or none; not those of an MTP module.
_EMBEDDINGS = re.compile(r"(?:^|\.)(?:embed_tokens|word_embeddings|tok_embeddings|wte)\.weight$")
_HEADS = re.compile(r"(?:^|\.)(?:lm_head|embed_out)\.weight$")
_INSIDE = re.compile(r"(?:^|\.)(?:layers|mtp|visual|vision_tower|audio_tower)\.")
_CHUNK = 8 * 1024 * 1024


class Head:
    """Where embedding and head are in the shards of ``checkpoint``; ``tied``: the head is the embedding."""

    def __init__(self, checkpoint: Checkpoint, target: Target) -> None:
        """Find and check them.

        Raises:
            UnreadableError: the shards do not hold them.
            UsageError: they are not what replay can use: quantized, of another shape, or a head with a bias.
        """
        self._checkpoint = checkpoint
        embedding = _named(checkpoint, _EMBEDDINGS)
        head = _named(checkpoint, _HEADS)
        tied = _states_tied(checkpoint.config or {})
        if embedding is None or (head is None and tied is False):
            missing = "embedding" if embedding is None else "lm_head"
            problem = "; ".join(finding.message for finding in checkpoint.findings[:1])
            raise UnreadableError(
                f"the shards of {quoted(checkpoint.source)} have no {missing}"
                + (f" ({problem})" if problem else ""),
                hint="give the folder of the target with all its shards: --model FOLDER",
            )
        self.tied = head is None if tied is None else tied
        self._tensors = {EMBEDDING: embedding}
        if not self.tied and head is not None:
            self._tensors[LM_HEAD] = head
            if head.name.removesuffix("weight") + "bias" in checkpoint.tensors:
                raise UsageError(
                    "the target's head has a bias, and a trace has no place for it",
                    hint="such a target cannot be replayed with this version",
                )
        for tensor in self._tensors.values():
            if (
                tensor.dtype not in _FLOATS
                or len(tensor.shape) != 2
                or tensor.shape[1] != target.hidden_size
                or tensor.shape[0] < target.vocab_size
            ):
                raise UsageError(
                    f"{quoted(tensor.name)} of the target is {tensor.dtype} {list(tensor.shape)}, "
                    f"not a float matrix of at least {target.vocab_size:,} x {target.hidden_size:,}",
                    hint=f"check {target.file}, or give the folder of the target that is not quantized",
                )

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in self._tensors.values())

    def write(self, recording: Recording) -> dict[str, Any]:
        """Copy them into the trace, unless an earlier run has, and return their entry in the index."""
        written = rehash(recording.head) if recording.head.is_file() else None
        if written is None:
            written = self._copy(recording)
        return {"file": HEAD, "tied": self.tied, **written.as_json()}

    def _copy(self, recording: Recording) -> Written:
        specs = {name: TensorSpec(each.dtype, each.shape) for name, each in self._tensors.items()}
        data = {name: self._pieces(tensor) for name, tensor in self._tensors.items()}
        return write_tensors(recording.head, specs, {}, data)

    def _pieces(self, tensor: TensorInfo) -> Iterator[bytes]:
        checkpoint = self._checkpoint
        name = checkpoint.file_of[tensor.name]
        try:
            with self._opened(name) as file:
                file.seek(checkpoint.data_start[tensor.name])
                left = tensor.nbytes
                while left and (piece := read_up_to(file, min(left, _CHUNK))):
                    left -= len(piece)
                    yield piece
        except OSError as error:
            raise UnreadableError(
                f"{quoted(name)} of {quoted(checkpoint.source)} cannot be read ({error.strerror or error})",
                hint="check the disk and the permissions of the file",
            ) from error
        if left:
            raise UnreadableError(
                f"{quoted(name)} of {quoted(checkpoint.source)} is shorter than its header says",
                hint="fetch the file again",
            )

    def _opened(self, name: str) -> BinaryIO:
        checkpoint = self._checkpoint
        return open_regular(checkpoint.root / name) if checkpoint.opener is None else checkpoint.opener(name)


def _named(checkpoint: Checkpoint, pattern: re.Pattern[str]) -> TensorInfo | None:
    """The tensor of the language model that ``pattern`` names: of several, the one with the shortest name."""
    names = [name for name in checkpoint.tensors if pattern.search(name) and not _INSIDE.search(name)]
    return checkpoint.tensors[min(names, key=lambda name: (len(name), name))] if names else None


def _states_tied(config: Mapping[str, Any]) -> bool | None:
    """``tie_word_embeddings`` of the language model or of the whole, None where neither says it."""
    text = config.get("text_config")
    for level in (text if isinstance(text, Mapping) else {}, config):
        if isinstance(level.get("tie_word_embeddings"), bool):
            return bool(level["tie_word_embeddings"])
    return None
