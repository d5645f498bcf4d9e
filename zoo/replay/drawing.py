"""Drawing tokens at a temperature while a trace is recorded, so that the record is a text that the target
writes there.

Each conversation has a generator of its own, seeded by the seed of the recording and its name: what is drawn
does not depend on its batch, so that a recording that was stopped goes on with the same tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Generator, Tensor


def drawn(names: Sequence[str], temperature: float, seed: int) -> Any:
    """A logits processor for greedy ``generate``: the likeliest token of what it gives is a draw from
    softmax(logits / temperature), by the Gumbel-max trick (Maddison et al., arXiv 1411.0030, section 2).

    ``names``: those of the conversations, in the order of the rows of the batch.
    """
    import torch
    import transformers

    generators = [_generator(name, seed) for name in names]

    class Drawn(transformers.LogitsProcessor):  # type: ignore[misc, no-any-unimported, unused-ignore]
        def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
            # -log of an exponential variable is a Gumbel one; on the CPU, so that every device draws alike.
            rows = [torch.empty(scores.shape[1]).exponential_(generator=each) for each in generators]
            return scores.float() / temperature - torch.stack(rows).log().to(scores.device)

    return Drawn()


def _generator(name: str, seed: int) -> Generator:
    import torch

    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
