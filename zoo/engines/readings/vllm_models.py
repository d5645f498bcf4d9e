"""The draft classes of vLLM 0.33.0: the parameters that each builds from a config, and its weight loader."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zoo.engines.readings.model import Fate, LayerIds, Missing, Tensors
from zoo.engines.readings.parameters import (
    Load,
    Parameter,
    Part,
    attention,
    mlp,
    mlp_biases,
    norms,
    prefixed,
    unused,
    whole,
)
from zoo.engines.readings.sglang_dflash import Refused
from zoo.engines.readings.sglang_eagle3 import check_silu

_LOADER = "vllm model_executor/models/utils.py (AutoWeightsLoader)"
_ROTARY = ("rotary_pos_emb.inv_freq", "rotary_emb.inv_freq", "rotary_emb.cos_cached", "rotary_emb.sin_cached")
_STACKED = (
    (".q_proj", ".qkv_proj", "q"),
    (".k_proj", ".qkv_proj", "k"),
    (".v_proj", ".qkv_proj", "v"),
    (".gate_proj", ".gate_up_proj", "0"),
    (".up_proj", ".gate_up_proj", "1"),
)
_MLA_STACKED = (
    *_STACKED[3:],
    (".q_a_proj", ".fused_qkv_a_proj", "0"),
    (".kv_a_proj_with_mqa", ".fused_qkv_a_proj", "1"),
)


class Model:
    """What the classes share: which names the loader keeps, and where it puts them."""

    stacked: tuple[tuple[str, str, str], ...] = _STACKED
    block_size: int | None = None

    def __init__(self, seen: Mapping[str, Any], architecture: str, target_layers: int | None) -> None:
        self.seen, self.architecture, self.target_layers = seen, architecture, target_layers
        self.notes: list[str] = []
        self.faults: list[str] = []
        self.vocab: int = seen.get("vocab_size", 0)
        self.draft_vocab: int = seen.get("draft_vocab_size") or self.vocab
        self.own_embedding = self.own_head = False
        check_silu(seen, "vllm model_executor/models/{llama,qwen2,deepseek_v2}.py")
        self.block = self._block("dflash_config")
        self.aux = self._aux()
        self.layer_ids = self._layer_ids()

    def _block(self, name: str) -> Mapping[str, Any]:
        block = self.seen.get(name)
        return block if isinstance(block, Mapping) else {}

    def _stated(self) -> tuple[int, ...]:
        """get_eagle3_aux_layers_from_config: capture points, which lie before the layer of that number."""
        ids = self.seen.get("eagle_aux_hidden_state_layer_ids")
        if not ids:
            inside, top = self.block.get("target_layer_ids"), self.seen.get("target_layer_ids")
            ids = [number + 1 for number in inside or top or []]
        if not ids:
            ids = self.block.get("layer_ids") or self._block("eagle_config").get("layer_ids")
        return tuple(ids) if isinstance(ids, list | tuple) else ()

    def _layer_ids(self) -> LayerIds:
        stated = self._stated()
        if stated:
            return LayerIds(tuple(point - 1 for point in stated))
        self.notes.append("it finds no layer ids, so it taps layers 1, n/2 - 1 and n - 4 of the target's n")
        depth = self.target_layers
        return LayerIds(None if depth is None else (1, depth // 2 - 1, depth - 4), guessed=True)

    def _aux(self) -> int:
        raise NotImplementedError

    def parameters(self) -> dict[str, Parameter]:
        raise NotImplementedError

    @property
    def target_hidden(self) -> int:
        size: int = self.seen.get("target_hidden_size") or self.seen["hidden_size"]
        return size

    def _outer(self, made: dict[str, Parameter]) -> dict[str, Parameter]:
        """The model's parameters, and those beside it: head and vocabulary map."""
        hidden = self.seen["hidden_size"]
        made["embed_tokens.weight"] = whole(
            "embed_tokens.weight", self.vocab, hidden, rule="vocabulary", unfilled=Missing.BORROWED
        )
        made = prefixed("model.", made)
        made["lm_head.weight"] = whole(
            "lm_head.weight", self.draft_vocab, hidden, rule="vocabulary", unfilled=Missing.BORROWED
        )
        if self.draft_vocab != self.vocab:
            made["draft_id_to_target_id"] = whole("d2t", self.draft_vocab, unfilled=Missing.DEFAULT)
        return made

    def load(self, tensors: Tensors) -> Load:
        made = Load(self.parameters(), _LOADER)
        for name, (_, shape) in tensors.items():
            self._one(made, name, shape)
        return made

    def _one(self, made: Load, name: str, shape: tuple[int, ...]) -> None:
        if "t2d" in name or any(part in name for part in _ROTARY):
            made.fates[name] = Fate.SKIPPED
            return
        if self._special(made, name, shape):
            return
        if "d2t" in name:
            mapped = name.replace("d2t", "draft_id_to_target_id")
        else:
            mapped = name if "lm_head" in name else f"model.{name}"
        mapped, shard = self._mapped(mapped)
        if mapped in made.parameters:
            made.put(name, shape, mapped, shard)
        elif self._is_stray_bias(made, mapped):
            made.fates[name] = Fate.IGNORED
        else:
            made.refuse(name, f"There is no module or parameter named {mapped!r}, for the tensor {name!r}")

    def _special(self, made: Load, name: str, shape: tuple[int, ...]) -> bool:
        """A tensor that the class treats by itself; False for all others."""
        return False

    def _mapped(self, name: str) -> tuple[str, str]:
        head, inner = name.startswith("model."), name.removeprefix("model.")
        if not head:
            return name, ""
        inner = self._renamed(inner)
        for part, fused, shard in self.stacked:
            if part in inner:
                return f"model.{inner.replace(part, fused, 1)}", shard
        return f"model.{inner}", ""

    def _renamed(self, name: str) -> str:
        return name.replace("midlayer.", "layers.0.", 1)

    def _is_stray_bias(self, made: Load, name: str) -> bool:
        """A bias of a module that exists without one is dropped without a word."""
        module = name.removesuffix("bias")
        return name.endswith(".bias") and any(known.startswith(module) for known in made.parameters)

    def missing(self, made: Load) -> dict[str, Missing]:
        return made.missing()


class DFlash(Model):
    """DFlashQwen3ForCausalLM and DFlash2Qwen3ForCausalLM."""

    def __init__(self, seen: Mapping[str, Any], architecture: str, target_layers: int | None) -> None:
        super().__init__(seen, architecture, target_layers)
        self.notes.append("a block is num_speculative_tokens + 1; the config's block_size is not read")
        self.second = architecture == "DFlash2DraftModel"
        if self.second:
            for key in ("selector_rank", "selector_top_k", "conv_kernel_size", "conv_group_size"):
                if key not in self.block:
                    raise Refused(f"dflash_config has no {key} (KeyError)", "vllm models/qwen3_dflash2.py")
            if seen["hidden_size"] % self.block["conv_group_size"]:
                raise Refused("conv_group_size must divide hidden_size", "vllm models/qwen3_dflash2.py")
        types = seen.get("layer_types") or []
        window = self.block.get("swa_window_size", seen.get("sliding_window"))
        if window is None and ("sliding_attention" in types or self.block.get("use_swa")):
            raise Refused("DFlash sliding attention requires a window size", "vllm models/qwen3_dflash.py")

    def _aux(self) -> int:
        return len(self._stated()) or int(self.seen["num_hidden_layers"])

    def parameters(self) -> dict[str, Parameter]:
        return self._outer(self._inner())

    def _inner(self) -> dict[str, Parameter]:
        seen, hidden = self.seen, self.seen["hidden_size"]
        biases = "qkvo" if seen.get("attention_bias") else ""
        made: dict[str, Parameter] = {}
        for index in range(seen["num_hidden_layers"]):
            layer = f"layers.{index}."
            made |= norms(layer, ("input_layernorm", "post_attention_layernorm"), hidden)
            made |= attention(f"{layer}self_attn", seen, hidden, norms=True, biases=biases)
            made |= mlp(f"{layer}mlp", seen)
            if self._sinks():
                name = f"{layer}self_attn.attention_sink_bias"
                made[name] = whole(name, seen["num_attention_heads"], rule="rows")
            if self.architecture == "DFlash2DraftModel":
                made |= self._convolutions(layer, hidden)
        if self.block.get("use_aux_hidden_state", seen.get("use_aux_hidden_state", True)):
            made["fc.weight"] = whole("fc.weight", hidden, self.aux * self.target_hidden)
        made |= norms("", ("hidden_norm", "norm"), hidden)
        if self.architecture == "DFlash2DraftModel":
            rank = self.block["selector_rank"]
            for name in ("predecessor_codebook", "successor_codebook"):
                full = f"candidate_selector.{name}"
                made[full] = whole(full, self.vocab, rank)
            full = "candidate_selector.hidden_projection.weight"
            made[full] = whole(full, rank, hidden)
        return made

    def _sinks(self) -> bool:
        return bool(
            self.block.get("attention_sink_bias", self.seen.get("add_swa_attention_sink_bias", False))
        )

    def _convolutions(self, layer: str, hidden: int) -> dict[str, Parameter]:
        taps, group = self.block["conv_kernel_size"], self.block["conv_group_size"]
        made: dict[str, Parameter] = {}
        for conv in (f"{layer}attention_conv", f"{layer}mlp_conv"):
            made[f"{conv}.base_kernel"] = whole(f"{conv}.base_kernel", 2, taps, hidden)
            rows = 2 * taps * (hidden // group)
            made[f"{conv}.kernel_projection.weight"] = whole(f"{conv}.kernel_projection.weight", rows, hidden)
        return made

    def _special(self, made: Load, name: str, shape: tuple[int, ...]) -> bool:
        if "mask_hidden" in name:
            made.refuse(name, "DFlash should not ship a mask_hidden weight (AssertionError)")
            return True
        return False

    def _renamed(self, name: str) -> str:
        for old, new in (
            ("midlayer", "layers.0"),
            ("encoder.output_norm_enc", "hidden_norm"),
            ("encoder.fc", "fc"),
        ):
            name = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(old)}(?=\.|\*|$)", new, name)
        return name


class DSpark(DFlash):
    """Qwen3DSparkForCausalLM."""

    def __init__(self, seen: Mapping[str, Any], architecture: str, target_layers: int | None) -> None:
        source = "vllm models/qwen3_dspark.py"
        super().__init__(seen, architecture, target_layers)
        if architecture == "DSparkDraftModel" and seen.get("model_type") != "qwen3":
            raise Refused("DSparkDraftModel is a DeepSeek V4 draft here unless model_type is qwen3", source)
        self.notes.pop()
        if not isinstance(seen.get("markov_rank"), int):
            nested = " (it stands in dflash_config, which is not read)" if "markov_rank" in self.block else ""
            reason = f"config.json has no top-level markov_rank{nested} (AttributeError)"
            raise Refused(reason, source, key="markov_rank")
        self.block_size = seen.get("block_size")

    def _inner(self) -> dict[str, Parameter]:
        made = super()._inner()
        rank = self.seen["markov_rank"]
        made["markov_head.markov_w1.weight"] = whole("markov_head.markov_w1.weight", self.vocab, rank)
        made["markov_head.markov_w2.weight"] = whole(
            "markov_head.markov_w2.weight", self.draft_vocab, rank, rule="vocabulary"
        )
        if self.seen.get("enable_confidence_head"):
            width = self.seen["hidden_size"] + (rank if self.seen.get("confidence_head_with_markov") else 0)
            made["confidence_head.proj.weight"] = whole("confidence_head.proj.weight", 1, width)
            made["confidence_head.proj.bias"] = whole("confidence_head.proj.bias", 1)
        return made

    def _special(self, made: Load, name: str, shape: tuple[int, ...]) -> bool:
        if "confidence_head" in name and not self.seen.get("enable_confidence_head"):
            made.fates[name] = Fate.SKIPPED
            return True
        return False

    def load(self, tensors: Tensors) -> Load:
        made = super().load(tensors)
        if self.draft_vocab < self.vocab:
            for part, what in (("lm_head", "lm_head weights"), ("d2t", "a d2t mapping")):
                if not any(part in name for name in tensors):
                    made.refuse(part, f"Reduced-vocabulary Qwen3 DSpark checkpoints must include {what}")
                    del made.fates[part]
        return made

    def missing(self, made: Load) -> dict[str, Missing]:
        """The confidence head is optional: without its tensors there is none."""
        found = made.missing()
        return {name: held for name, held in found.items() if not name.startswith("confidence_head.")}


class Eagle3(Model):
    """Eagle3LlamaForCausalLM and Eagle3Qwen3ForCausalLM; also P-EAGLE in the layout of speculators."""

    def __init__(self, seen: Mapping[str, Any], architecture: str, target_layers: int | None) -> None:
        super().__init__(seen, architecture, target_layers)
        if self._block("eagle_config").get("eagle_aux_hidden_state_layer_ids") and self.layer_ids.guessed:
            self.notes.append(
                "the ids in eagle_config.eagle_aux_hidden_state_layer_ids are not read by the default runner "
                "(V2); VLLM_USE_V2_MODEL_RUNNER=0 reads them"
            )
        self.parallel = architecture.startswith("Peagle")

    def _aux(self) -> int:
        number = self.seen.get("num_aux_hidden_states")
        if number is not None:
            return int(number)
        ids = self._block("eagle_config").get("eagle_aux_hidden_state_layer_ids")
        if "Qwen3" in self.architecture:
            ids = self.seen.get("eagle_aux_hidden_state_layer_ids") or ids
        return len(ids) if ids else 3

    @property
    def target_hidden(self) -> int:
        size: int = self.seen.get("target_hidden_size", self.seen["hidden_size"])
        return size

    def parameters(self) -> dict[str, Parameter]:
        seen, hidden = self.seen, self.seen["hidden_size"]
        biases = ("qkv" if seen.get("attention_bias") else "") + (
            "o" if seen.get("attention_bias") or seen.get("bias") else ""
        )
        made: dict[str, Parameter] = {}
        for index in range(seen["num_hidden_layers"]):
            layer = f"layers.{index}."
            width = hidden if index else 2 * hidden
            made |= attention(
                f"{layer}self_attn", seen, width, norms="Qwen3" in self.architecture, biases=biases
            )
            made |= mlp(f"{layer}mlp", seen)
            if seen.get("mlp_bias") and "Qwen3" not in self.architecture:
                made |= mlp_biases(f"{layer}mlp", seen)
            made |= self._norms(index, hidden)
        return self._outer(made | self._around(hidden))

    def _norms(self, index: int, hidden: int) -> dict[str, Parameter]:
        """Only the first layer runs hidden_norm; the others norm their input with input_layernorm."""
        layer = f"layers.{index}."
        made = norms(layer, ("hidden_norm", "input_layernorm", "post_attention_layernorm"), hidden)
        return unused(made, f"{layer}hidden_norm.weight") if index else made

    def _around(self, hidden: int) -> dict[str, Parameter]:
        made: dict[str, Parameter] = {}
        eagle = self._block("eagle_config")
        if eagle.get("use_aux_hidden_state", True):
            made["fc.weight"] = whole("fc.weight", hidden, self.aux * self.target_hidden)
            if eagle.get("norm_before_fc", self.seen.get("norm_before_fc", False)):
                made["input_norm.weight"] = whole("input_norm.weight", self.aux * self.target_hidden)
            if self.seen.get("fc_norm"):
                made |= norms("fc_norm.", map(str, range(self.aux)), self.target_hidden)
        made["norm.weight"] = whole("norm.weight", hidden)
        return made

    def _special(self, made: Load, name: str, shape: tuple[int, ...]) -> bool:
        if self._dropped(name):
            made.fates[name] = Fate.IGNORED
            return True
        if "mask_hidden" not in name:
            return False
        made.fates[name] = Fate.READ if self.parallel else Fate.IGNORED
        made.filled.add(("mask_hidden", ""))
        return True

    def _dropped(self, name: str) -> bool:
        """What load_weights takes out before it looks for a place: the fusion that the class has not built,
        and the norm before it."""
        eagle = self._block("eagle_config")
        if "fc." in name and not eagle.get("use_aux_hidden_state", True):
            return True
        return "input_norm." in name and not eagle.get("norm_before_fc", self.seen.get("norm_before_fc"))

    def load(self, tensors: Tensors) -> Load:
        made = super().load(tensors)
        self._judge(tensors)
        if self.parallel and not any("mask_hidden" in name for name in tensors):
            made.refuse(
                "mask_hidden",
                "mask_hidden not found in weights but model is configured for parallel drafting",
            )
            del made.fates["mask_hidden"]
        return made

    def _judge(self, tensors: Tensors) -> None:
        """What is served wrongly although every parameter has a tensor."""
        if any("fc." in name and self._dropped(name) for name in tensors):
            self.faults.append(
                "has no fc without use_aux_hidden_state: it feeds the draft with the last hidden states of "
                "the target"
            )
        tied = self.seen.get("tie_word_embeddings")  # without it a lost head is what it is (I001)
        if tied and self.draft_vocab != self.vocab and not any("lm_head" in name for name in tensors):
            self.faults.append(
                f"takes the first {self.draft_vocab:,} rows of the target's head, since the file has none, "
                "and maps them to the tokens of d2t: other words than it means"
            )


class Eagle3MLA(Eagle3):
    """Eagle3DeepseekV2ForCausalLM: the first layer has latent attention."""

    stacked = _MLA_STACKED

    def parameters(self) -> dict[str, Parameter]:
        seen, hidden = self.seen, self.seen["hidden_size"]
        if seen.get("q_lora_rank") is None:
            raise Refused("an EAGLE3 draft with latent attention and no q_lora_rank was not read", "zoo")
        made: dict[str, Parameter] = {}
        for index in range(seen["num_hidden_layers"]):
            layer = f"layers.{index}."
            made |= self._latent(f"{layer}self_attn", hidden if index else 2 * hidden)
            made |= mlp(f"{layer}mlp", seen)
            made |= self._norms(index, hidden)
        return self._outer(made | self._around(hidden))

    def _latent(self, prefix: str, width: int) -> dict[str, Parameter]:
        seen, hidden = self.seen, self.seen["hidden_size"]
        heads, query, latent = seen["num_attention_heads"], seen["q_lora_rank"], seen["kv_lora_rank"]
        nope, rope, value = seen["qk_nope_head_dim"], seen["qk_rope_head_dim"], seen["v_head_dim"]
        fused = {
            "0": Part(f"{prefix}.q_a_proj.weight", (query, width)),
            "1": Part(f"{prefix}.kv_a_proj_with_mqa.weight", (latent + rope, width)),
        }
        made = {f"{prefix}.fused_qkv_a_proj.weight": Parameter(fused, "rows")}
        made |= norms(f"{prefix}.", ("q_a_layernorm",), query)
        made |= norms(f"{prefix}.", ("kv_a_layernorm",), latent)
        for name, rows, columns in (
            ("q_b_proj", heads * (nope + rope), query),
            ("kv_b_proj", heads * (nope + value), latent),
        ):
            made[f"{prefix}.{name}.weight"] = whole(f"{prefix}.{name}.weight", rows, columns, rule="rows")
        name = f"{prefix}.o_proj.weight"
        made[name] = whole(name, hidden, heads * value, rule="columns")
        return made
