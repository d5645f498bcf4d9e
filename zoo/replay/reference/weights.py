"""A draft's tensors, from its safetensors files, under the names that they have there."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from zoo.checkpoint.model import Checkpoint
from zoo.errors import UnreadableError
from zoo.printable import quoted


def read_weights(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """Every tensor that an engine would load from this folder, on the CPU in the dtype of the file.

    Raises:
        UnreadableError: a file is not safetensors or cannot be read, or the checkpoint is not on this disk.
    """
    if checkpoint.opener is not None:
        raise UnreadableError(
            f"{quoted(checkpoint.source)}: its weights are not on this disk", hint="run: zoo pull, then again"
        )
    found: dict[str, Tensor] = {}
    for file in checkpoint.weights:
        try:
            with safe_open(checkpoint.root / file.name, framework="pt") as opened:
                found |= {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise UnreadableError(
                f"{quoted(file.name)}: its tensors cannot be read ({error})", hint="run: zoo verify"
            ) from error
    return found


class Taker:
    """Takes tensors by name, checks their shape, and moves them to where the draft runs."""

    def __init__(self, weights: Mapping[str, Tensor], device: torch.device | str, dtype: torch.dtype) -> None:
        self.weights, self.device, self.dtype = weights, device, dtype

    def __contains__(self, name: str) -> bool:
        return name in self.weights

    def __call__(self, name: str, *shape: int) -> Tensor:
        """The tensor ``name`` in the draft's dtype.

        Raises:
            UnreadableError: it is missing, or has another shape.
        """
        return self.as_it_is(name, *shape).to(self.dtype)

    def as_it_is(self, name: str, *shape: int) -> Tensor:
        """As calling, in the dtype of the file (for maps of token ids)."""
        if name not in self.weights:
            raise UnreadableError(
                f"the draft has no tensor {quoted(name)}", hint="run zoo verify on it, which says why"
            )
        tensor = self.weights[name]
        if tuple(tensor.shape) != shape:
            raise UnreadableError(
                f"{quoted(name)} has the shape {list(tensor.shape)}, its config says {list(shape)}",
                hint="run zoo verify on it, which says why",
            )
        return tensor.to(self.device)
