"""The target in transformers: forward passes over a cache, and the states that a draft looks at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

from zoo.errors import UnreadableError, UsageError
from zoo.printable import printable, quoted

_DTYPES = {"float": "float32", "half": "float16"}


class Target:
    """A causal language model of a local folder: safetensors only, no code of the folder.

    ``ends`` are the tokens that end an answer: of config, generation config and tokenizer, as in SGLang.

    Raises:
        UnreadableError: transformers cannot load it.
    """

    def __init__(self, folder: Path, dtype: str, *, tokenizer: bool, context_length: int | None) -> None:
        transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call, unused-ignore]
        transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call, unused-ignore]
        kind = "auto" if dtype == "auto" else getattr(torch, _DTYPES.get(dtype, dtype))
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        try:
            self.model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                folder, dtype=kind, attn_implementation="sdpa", use_safetensors=True, **local
            )
            self.tokenizer: Any = (
                transformers.AutoTokenizer.from_pretrained(folder, **local) if tokenizer else None
            )
        except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
            reason = printable(str(error).strip().split("\n")[0], limit=300)
            raise UnreadableError(
                f"transformers cannot load the target {quoted(str(folder))}: {reason}",
                hint="give a folder with config.json, safetensors and (or --skip-tokenizer-init) a tokenizer",
            ) from error
        self.model.requires_grad_(False)
        self.config: Any = self.model.config.get_text_config()
        self.vocab_size: int = self.config.vocab_size
        self.context_length: int = context_length or self.config.max_position_embeddings
        self.ends = self._end_tokens()
        self._states: dict[int, Tensor] = {}
        self._tapped: tuple[int, ...] = ()

    @property
    def dtype(self) -> torch.dtype:
        kind: torch.dtype = self.model.dtype
        return kind

    @property
    def layers(self) -> int:
        return len(self.model.get_decoder().layers)

    @property
    def embed(self) -> Tensor:
        """The input embedding [V, T]."""
        table: Tensor = self.model.get_input_embeddings().weight
        return table

    @property
    def lm_head(self) -> Tensor:
        """The head [V, T]."""
        table: Tensor = self.model.get_output_embeddings().weight
        return table

    def tap(self, layers: Sequence[int]) -> None:
        """From now on each forward pass keeps the states after these layers (-1: the embedding).

        Raises:
            UsageError: the target has no such layer.
        """
        wrong = [layer for layer in layers if not -1 <= layer < self.layers]
        if wrong:
            raise UsageError(
                f"the draft reads the states after layer {wrong[0]}: out-of-range layer id, the target has "
                f"layers 0 to {self.layers - 1}",
                hint="serve the target that this draft was trained for",
            )
        self._tapped = tuple(layers)
        for layer in set(layers):
            self._hook(layer)

    def forward(self, tokens: Sequence[int], cache: Any, keep: int) -> tuple[Tensor, Tensor]:
        """Run ``tokens`` [n] after what ``cache`` holds, and add them to it.

        Returns the logits [keep, V] of the last ``keep`` tokens in float32, and the states [n, K*T] of all of
        them after the tapped layers, side by side.
        """
        ids = torch.tensor([list(tokens)])
        # Positional, because transformers 5.24 renamed this argument from past_key_values to cache.
        output = self.model(ids, None, None, cache, use_cache=True, logits_to_keep=keep)
        states = [self._states[layer][0] for layer in self._tapped]
        return output.logits[0].float(), torch.cat(states, dim=-1) if states else torch.empty(len(tokens), 0)

    def text(self, tokens: Sequence[int]) -> str:
        """The words of an answer, without special tokens."""
        decoded: str = self.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return decoded

    def _hook(self, layer: int) -> None:
        decoder = self.model.get_decoder()
        if layer == -1:

            def before(_: Any, positional: Any, named: Any) -> None:
                self._states[-1] = (*positional, named.get("hidden_states"))[0]

            decoder.layers[0].register_forward_pre_hook(before, with_kwargs=True)
        else:

            def after(_: Any, __: Any, output: Any) -> None:
                self._states[layer] = output if isinstance(output, Tensor) else output[0]

            decoder.layers[layer].register_forward_hook(after)

    def _end_tokens(self) -> frozenset[int]:
        stated = [
            self.model.generation_config.eos_token_id,
            getattr(self.config, "eos_token_id", None),
            None if self.tokenizer is None else self.tokenizer.eos_token_id,
        ]
        lists = [each if isinstance(each, list) else [each] for each in stated if each is not None]
        return frozenset(token for tokens in lists for token in tokens)
