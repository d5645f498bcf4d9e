"""Make the target of smollm2-135m-dflash: python examples/smollm2/make_target.py GGUF OUT.

A GGUF file of a Llama model becomes a folder for transformers and SGLang: bfloat16 safetensors, config.json,
tokenizer.json and the chat template. Quantized weights are dequantized, so the target is the quantized model
and not the original. Needs gguf, torch, safetensors and tokenizers (README.md).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf.quants import dequantize
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

# Names of llama.cpp -> names of transformers.
NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL = 3  # token type of GGUF: a special token


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("gguf", type=Path, help="the GGUF file")
    parser.add_argument("out", type=Path, help="a folder that does not exist")
    args = parser.parse_args()
    reader = gguf.GGUFReader(args.gguf)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    if facts["general.architecture"] != "llama":
        parser.error(f"a GGUF of a Llama model is needed, this one is of {facts['general.architecture']}")
    args.out.mkdir(parents=True)
    tensors = weights(reader, facts)
    save_file(tensors, args.out / "model.safetensors", metadata={"format": "pt"})
    write(args.out / "config.json", config(facts, tied="lm_head.weight" not in tensors))
    write(args.out / "generation_config.json", special_ids(facts))
    tokenizer(facts).save(str(args.out / "tokenizer.json"))
    write(args.out / "tokenizer_config.json", tokenizer_config(facts))
    print(f"{args.out}: {len(tensors)} tensors")


def write(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n")


def weights(reader: Any, facts: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Every tensor in bfloat16, under its name in transformers."""
    heads = {
        "attn_q": facts["llama.attention.head_count"],
        "attn_k": facts["llama.attention.head_count_kv"],
    }
    found = {}
    for tensor in reader.tensors:
        *block, kind, _ = tensor.name.split(".")  # blk.3.attn_q.weight, or output_norm.weight
        # GGUF lists the dimensions from the fastest on.
        values = dequantize(tensor.data, tensor.tensor_type).reshape([int(n) for n in tensor.shape[::-1]])
        if kind in heads:
            values = halves(values, heads[kind])
        prefix = f"model.layers.{block[1]}." if block else ""
        found[f"{prefix}{NAMES[kind]}.weight"] = torch.from_numpy(np.array(values)).bfloat16()
    return found


def halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """The rows of a q or k projection in the order of transformers, which rotates the pairs (i, i + D/2) of a
    head of D rows. llama.cpp stores them as neighbours (2i, 2i + 1)."""
    pairs = rows.reshape(heads, -1, 2, rows.shape[1])
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def special_ids(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "bos_token_id": facts["tokenizer.ggml.bos_token_id"],
        "eos_token_id": facts["tokenizer.ggml.eos_token_id"],
        "pad_token_id": facts["tokenizer.ggml.padding_token_id"],
    }


def config(facts: dict[str, Any], tied: bool) -> dict[str, Any]:
    hidden, heads = facts["llama.embedding_length"], facts["llama.attention.head_count"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "num_hidden_layers": facts["llama.block_count"],
        "hidden_size": hidden,
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_attention_heads": heads,
        "num_key_value_heads": facts["llama.attention.head_count_kv"],
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        "rms_norm_eps": round(float(facts["llama.attention.layer_norm_rms_epsilon"]), 9),  # it is a float32
        "rope_theta": float(facts["llama.rope.freq_base"]),
        "rope_scaling": None,
        "max_position_embeddings": facts["llama.context_length"],
        "vocab_size": facts["llama.vocab_size"],
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tied,
        "use_cache": True,
        **special_ids(facts),
    }


def tokenizer(facts: dict[str, Any]) -> Tokenizer:
    """The byte-level BPE of SmolLM2: digits one by one, then GPT-2's split."""
    tokens, types = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    made.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, types, strict=True) if kind == CONTROL]
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return made


def tokenizer_config(facts: dict[str, Any]) -> dict[str, Any]:
    tokens = facts["tokenizer.ggml.tokens"]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[facts["tokenizer.ggml.bos_token_id"]],
        "eos_token": tokens[facts["tokenizer.ggml.eos_token_id"]],
        "pad_token": tokens[facts["tokenizer.ggml.padding_token_id"]],
        "unk_token": tokens[facts["tokenizer.ggml.unknown_token_id"]],
        "model_max_length": facts["llama.context_length"],
        "clean_up_tokenization_spaces": False,
        "chat_template": facts["tokenizer.chat_template"],
    }


if __name__ == "__main__":
    main()
