"""The byte-level BPE tokenizer of the tiny target, and its chat template."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from data import Conversation
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

VOCAB_SIZE = 512
SPECIAL_TOKENS = ("<|end|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|mask|>")
END_ID, USER_ID, ASSISTANT_ID, TOOL_ID, MASK_ID = range(5)

# Every turn is <|role|>text<|end|>. An OpenAI-style tool call becomes the JSON that `data.call` writes.
CHAT_TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role not in ("user", "assistant", "tool") -%}
{{- raise_exception("the tiny target knows the roles user, assistant and tool, not " ~ message.role) -}}
{%- endif -%}
<|{{ message.role }}|>{{ message.content or "" }}
{%- for tool_call in message.tool_calls or [] -%}
{{- {"name": tool_call.function.name, "arguments": tool_call.function.arguments} | tojson -}}
{%- endfor -%}
<|end|>
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
"""


def train_tokenizer(texts: Iterable[str]) -> Any:
    """A tokenizer of exactly `VOCAB_SIZE` entries: the special tokens, the 256 bytes, then merges."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE, special_tokens=list(SPECIAL_TOKENS), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    ))  # fmt: skip
    if bpe.get_vocab_size() != VOCAB_SIZE:
        raise ValueError(f"the corpus gave {bpe.get_vocab_size()} tokens, not {VOCAB_SIZE}: it is too small")
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=bpe, eos_token="<|end|>", pad_token="<|end|>", mask_token="<|mask|>",
        chat_template=CHAT_TEMPLATE, model_max_length=4096, clean_up_tokenization_spaces=False,
    )  # fmt: skip


def encode(tokenizer: Any, messages: Conversation, add_generation_prompt: bool = False) -> list[int]:
    """The token ids of a conversation, through the chat template: training and serving cannot differ."""
    ids: list[int] = tokenizer.apply_chat_template(
        messages, add_generation_prompt=add_generation_prompt, tokenize=True, return_dict=False
    )
    return ids
