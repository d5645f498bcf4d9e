"""SGLang's reading of EAGLE3 drafts: one or more Llama layers, or one layer with latent attention (MLA).

Sources: sglang 0.5.14 and 0.5.23, models/llama_eagle3.py, models/kimi_k25_eagle3.py,
speculative/eagle_worker_v2.py (init_lm_head), set_eagle3_layers_to_capture of the target classes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zoo.engines.readings.model import EngineReading, Fate, LayerIds, Missing, Refusal, Tensors
from zoo.engines.readings.parameters import (
    Load,
    Parameter,
    Part,
    attention,
    mlp,
    norms,
    prefixed,
    unused,
    whole,
)
from zoo.engines.readings.sglang_dflash import Refused
from zoo.engines.readings.words import joined

_LLAMA = "sglang models/llama_eagle3.py"
_MLA = "sglang models/kimi_k25_eagle3.py"
_STACKED = (
    (".q_proj", ".qkv_proj", "q"),
    (".k_proj", ".qkv_proj", "k"),
    (".v_proj", ".qkv_proj", "v"),
    (".gate_proj", ".gate_up_proj", "0"),
    (".up_proj", ".gate_up_proj", "1"),
)
_LEGACY = {
    "midlayer": "layers.0",
    "aux_norm_low": "fc_norm.0",
    "aux_norm_mid": "fc_norm.1",
    "aux_norm_high": "fc_norm.2",
}
# How the note about such a target begins while it is not known. These have the class of DeepSeek V2, or
# (GLM-4-lite) the same set_eagle3_layers_to_capture, in 0.5.14 and 0.5.23.
OPEN_TARGET = "on a DeepSeek, Kimi K2 or GLM-4-lite target it taps the layer before each of"
DEEPSEEK_LIKE = "deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 kimi_k25 glm4_moe_lite glm_moe_dsa".split()
BLOCK_KEYS = {
    "0.5.14": ("eagle_aux_hidden_state_layer_ids", "use_aux_hidden_state"),
    "0.5.23": ("eagle_aux_hidden_state_layer_ids", "norm_before_fc", "use_aux_hidden_state"),
}


class Eagle3Draft:
    """The class LlamaForCausalLMEagle3 of one version, built from a config.

    Raises:
        Refused: the engine stops at this config.
    """

    def __init__(self, seen: Mapping[str, Any], version: str, target_layers: int | None) -> None:
        self.seen, self.version, self.target_layers = seen, version, target_layers
        self.notes: list[str] = []
        self.faults: list[str] = []
        block = seen.get("eagle_config")
        self.block: Mapping[str, Any] = block if isinstance(block, Mapping) else {}
        self.tied = bool(seen.get("tie_word_embeddings"))
        check_silu(seen, _LLAMA)
        self._head()
        self.aux = self._aux()
        self.layer_ids = self._layer_ids()

    def _head(self) -> None:
        if "draft_vocab_size" not in self.seen:
            reason = "config.json has no draft_vocab_size (AttributeError)"
            raise Refused(reason, _LLAMA, key="draft_vocab_size")
        self.head_from_target = not self.tied and self.seen["draft_vocab_size"] is None
        self.vocab = self.seen.get("vocab_size", 0)
        self.draft_vocab = self.seen.get("draft_vocab_size") or self.vocab
        self._tied_head()

    def _tied_head(self) -> None:
        """Tied embeddings make the target's embedding the head, whose first rows are then read as the
        draft's tokens (logits_processor.py, ``logits[:, : self.vocab_size]``)."""
        if self.tied and self.draft_vocab != self.vocab:
            self.faults.append(
                f"takes the first {self.draft_vocab:,} rows of the target's embedding for the head "
                "(tie_word_embeddings), and maps them to the tokens of d2t: other words than it means"
            )

    @property
    def target_hidden(self) -> int:
        size: int = self.seen.get("target_hidden_size", self.seen["hidden_size"])
        return size

    @property
    def embeds_from_target(self) -> bool:
        """``set_embed`` keeps the file's embedding where the target's width is stated and another."""
        return self.head_from_target or self.target_hidden == self.seen["hidden_size"]

    @property
    def runs_fc(self) -> bool:
        """The fusion is skipped where the hidden states are as wide as the draft, as the target's last ones
        without ``use_aux_hidden_state`` are."""
        taps = self.aux if self.block.get("use_aux_hidden_state", True) else 1
        return taps * self.target_hidden != int(self.seen["hidden_size"])

    def _stated_ids(self) -> Any:
        return self.block.get("eagle_aux_hidden_state_layer_ids")

    def _aux(self) -> int:
        number = self.seen.get("num_aux_hidden_states")
        ids = self._stated_ids()
        made: int = number if number is not None else (len(ids) if ids else 3)
        return made

    def _layer_ids(self) -> LayerIds:
        ids = self._stated_ids()
        if not ids:
            self.notes.append(
                "the config states no eagle_config.eagle_aux_hidden_state_layer_ids, so it taps layers 1, "
                "n/2 - 1 and n - 4 of the target's n"
            )
            depth = self.target_layers
            return LayerIds(None if depth is None else (1, depth // 2 - 1, depth - 4), guessed=True)
        if ids[0] != 1:
            self.notes.append(
                f"{OPEN_TARGET} {joined([str(each) for each in ids])}, since the first id is not 1 "
                "(sgl-project/sglang#25454)"
            )
        return LayerIds(tuple(ids))

    def parameters(self) -> dict[str, Parameter]:
        seen, hidden, target = self.seen, self.seen["hidden_size"], self.target_hidden
        biases = "o" if seen.get("attention_bias") or seen.get("bias") else ""
        made: dict[str, Parameter] = {}
        for index in range(seen["num_hidden_layers"]):
            layer = f"layers.{index}."
            width = hidden if index else 2 * hidden
            made |= attention(f"{layer}self_attn", seen, width, norms=False, biases=biases)
            made |= mlp(f"{layer}mlp", self._mlp_sizes())
            made |= norms(layer, ("hidden_norm", "input_layernorm", "post_attention_layernorm"), hidden)
            if index:  # only the first layer norms the embeddings
                made = unused(made, f"{layer}input_layernorm.weight")
        made["fc.weight"] = whole("fc.weight", hidden, self.aux * target)
        made |= self._beside_fc(hidden, target)
        made["norm.weight"] = whole("norm.weight", hidden)
        made["embed_tokens.weight"] = self._embedding(hidden)
        made = prefixed("model.", made)
        if not self.tied:
            kept = Missing.BORROWED if self.head_from_target else Missing.RANDOM
            made["lm_head.weight"] = whole(
                "lm_head.weight", self.draft_vocab, hidden, rule="vocabulary", unfilled=kept
            )
        return made

    def _mlp_sizes(self) -> Mapping[str, Any]:
        """A llama4_text config has the width of a dense MLP under a key of its own."""
        if self.seen.get("model_type") != "llama4_text":
            return self.seen
        return {**self.seen, "intermediate_size": self.seen.get("intermediate_size_mlp", 16384)}

    def _embedding(self, hidden: int) -> Parameter:
        kept = Missing.BORROWED if self.embeds_from_target else Missing.RANDOM
        return whole("embed_tokens.weight", self.vocab, hidden, rule="vocabulary", unfilled=kept)

    def _beside_fc(self, hidden: int, target: int) -> dict[str, Parameter]:
        made: dict[str, Parameter] = {}
        if self.seen.get("bias"):
            made["fc.bias"] = whole("fc.bias", hidden)
        if self.seen.get("fc_norm") or self.seen.get("use_aux_norm"):
            made |= norms("fc_norm.", map(str, range(self.aux)), target)
        if self.version != "0.5.14" and self.block.get("norm_before_fc", self.seen.get("norm_before_fc")):
            made["input_norm.weight"] = whole("input_norm.weight", self.aux * target)
        return made

    def load(self, tensors: Tensors) -> Load:
        made = Load(self.parameters(), _LLAMA, pads=True)
        for name, (_, shape) in tensors.items():
            mapped = name
            for old, new in _LEGACY.items():
                mapped = mapped.replace(old, new)
            if "d2t" in mapped:
                made.fates[name] = Fate.READ
                made.filled.add(("d2t", ""))
            elif "t2d" in mapped or "rotary_emb.inv_freq" in mapped:
                made.fates[name] = Fate.SKIPPED
            else:
                self._place(made, name, mapped, shape)
        return self._after(made)

    def _place(self, made: Load, name: str, mapped: str, shape: tuple[int, ...]) -> None:
        shard = ""
        for part, fused, key in _STACKED:
            if part in mapped:
                mapped, shard = mapped.replace(part, fused), key
                break
        parameter = mapped if mapped in made.parameters else f"model.{mapped}"
        if parameter in made.parameters:
            made.put(name, shape, parameter, shard)
        else:
            made.fates[name] = Fate.IGNORED

    def _after(self, made: Load) -> Load:
        """What the worker replaces with the target's, and the fusion that it may not run."""
        if not self.runs_fc and any(name.endswith("fc.weight") for name in made.fates):
            self.faults.append(
                "never runs fc: it feeds the draft with the last hidden states of the target "
                "(use_aux_hidden_state false, or one tapped layer as wide as the draft)"
            )
        for name, fate in made.fates.items():
            embedding = re.search(r"embed_tokens\.weight$", name) and self.embeds_from_target
            head = re.search(r"lm_head\.weight$", name) and self.head_from_target
            if fate is Fate.READ and (embedding or head):
                made.fates[name] = Fate.BORROWED
        return made

    def missing(self, made: Load) -> dict[str, Missing]:
        found = made.missing()
        if not self.runs_fc:
            fusion = [name for name in found if name.startswith(("fc.", "fc_norm.", "input_norm."))]
            found |= dict.fromkeys(fusion, Missing.UNUSED)
        if self.draft_vocab != self.vocab and ("d2t", "") not in made.filled:
            found["d2t"] = Missing.DEFAULT
        return found


class Eagle3MLADraft(Eagle3Draft):
    """The class Eagle3DeepseekV2ForCausalLM of one version."""

    def __init__(self, seen: Mapping[str, Any], version: str, target_layers: int | None) -> None:
        super().__init__(seen, version, target_layers)
        if seen.get("q_lora_rank") is None:
            raise Refused("Eagle3 MLA layer requires q_lora_rank in the draft config", _MLA)
        if seen.get("num_hidden_layers") != 1:
            raise Refused(
                f"EAGLE3 currently only supports 1 layer, got {seen.get('num_hidden_layers')}", _MLA
            )

    def _head(self) -> None:
        self.vocab = self.seen.get("vocab_size", 0)
        stated = self.seen.get("draft_vocab_size")
        self.head_from_target = not self.tied and stated is None
        self.draft_vocab = stated or self.vocab
        self._tied_head()

    @property
    def target_hidden(self) -> int:
        size: int = self.seen.get("target_hidden_size") or self.seen["hidden_size"]
        return size

    def _aux(self) -> int:
        ids = self._stated_ids()
        if ids is None:
            ids = self.seen.get("eagle_aux_hidden_state_layer_ids")
        return 3 if ids is None else len(ids)

    def parameters(self) -> dict[str, Parameter]:
        seen, hidden, target = self.seen, self.seen["hidden_size"], self.target_hidden
        heads, query, latent = seen["num_attention_heads"], seen["q_lora_rank"], seen["kv_lora_rank"]
        nope, rope, value = seen["qk_nope_head_dim"], seen["qk_rope_head_dim"], seen["v_head_dim"]
        attn = "layers.0.self_attn"
        fused = {
            "0": Part(f"{attn}.q_a_proj.weight", (query, 2 * hidden)),
            "1": Part(f"{attn}.kv_a_proj_with_mqa.weight", (latent + rope, 2 * hidden)),
        }
        layer = {
            "self_attn.fused_qkv_a_proj_with_mqa.weight": Parameter(fused),
            "self_attn.q_a_layernorm.weight": whole(f"{attn}.q_a_layernorm.weight", query),
            "self_attn.q_b_proj.weight": whole(
                f"{attn}.q_b_proj.weight", heads * (nope + rope), query, rule="rows"
            ),
            "self_attn.kv_a_layernorm.weight": whole(f"{attn}.kv_a_layernorm.weight", latent),
            "self_attn.kv_b_proj.weight": whole(
                f"{attn}.kv_b_proj.weight", heads * (nope + value), latent, rule="rows"
            ),
            "self_attn.o_proj.weight": whole(f"{attn}.o_proj.weight", hidden, heads * value, rule="columns"),
        }
        for name in ("hidden_norm", "input_layernorm", "post_attention_layernorm"):
            layer[f"{name}.weight"] = whole(f"layers.0.{name}.weight", hidden)
        layer |= {
            name.removeprefix("layers.0."): parameter for name, parameter in mlp("layers.0.mlp", seen).items()
        }
        made = prefixed("midlayer.", layer)
        rule = "exact" if self.version == "0.5.14" else "rows"
        made["fc.weight"] = whole("fc.weight", hidden, self.aux * target, rule=rule)  # type: ignore[arg-type]
        if self.seen.get("bias"):
            made["fc.bias"] = whole("fc.bias", hidden)
        if self.seen.get("fc_norm") or self.seen.get("use_aux_norm"):
            made |= norms("fc_norm.", map(str, range(self.aux)), target)
        made["norm.weight"] = whole("norm.weight", hidden)
        made["embed_tokens.weight"] = self._embedding(hidden)
        made = prefixed("model.", made)
        if not self.tied:
            kept = Missing.BORROWED if self.head_from_target else Missing.RANDOM
            made["lm_head.weight"] = whole(
                "lm_head.weight", self.draft_vocab, hidden, rule="vocabulary", unfilled=kept
            )
        return made

    def load(self, tensors: Tensors) -> Load:
        made = Load(self.parameters(), _MLA, pads=True)
        halves: dict[str, dict[str, str]] = {}
        for name, (_, shape) in tensors.items():
            if name == "d2t" or name.endswith(".d2t"):
                made.fates[name] = Fate.READ
                made.filled.add(("d2t", ""))
                continue
            if name == "t2d" or name.endswith(".t2d"):
                made.fates[name] = Fate.SKIPPED
                continue
            mapped = re.sub(r"^layers\.0\.", "midlayer.", name)
            if not mapped.startswith("lm_head."):
                mapped = f"model.{mapped}"
            if self._gate_up(made, name, mapped, shape):
                continue
            if "q_a_proj" in mapped or "kv_a_proj_with_mqa" in mapped:
                which = "0" if "q_a_proj" in mapped else "1"
                key = mapped.replace("kv_a_proj_with_mqa", "q_a_proj")
                halves.setdefault(key, {})[which] = name
            elif mapped in made.parameters:
                made.put(name, shape, mapped)
            else:
                made.fates[name] = Fate.IGNORED
                made.notes.append(f"it warns: Eagle3 MLA: skipping unexpected weight {name}")
        self._fuse(made, halves, tensors)
        return self._after(made)

    def _gate_up(self, made: Load, name: str, mapped: str, shape: tuple[int, ...]) -> bool:
        for part, fused, shard in _STACKED[3:]:
            target = mapped.replace(part, fused)
            if part in mapped and target in made.parameters:
                made.put(name, shape, target, shard)
                return True
        return False

    def _fuse(self, made: Load, halves: Mapping[str, Mapping[str, str]], tensors: Tensors) -> None:
        """Both halves of the fused projection must be there; one alone is dropped without a word."""
        for key, found in halves.items():
            parameter = key.replace("q_a_proj", "fused_qkv_a_proj_with_mqa")
            if len(found) < 2 or parameter not in made.parameters:
                made.fates |= dict.fromkeys(found.values(), Fate.IGNORED)
                continue
            for shard in ("0", "1"):
                made.put(found[shard], tensors[found[shard]][1], parameter, shard)


def on_target(reading: EngineReading, model_type: str) -> EngineReading:
    """The reading of an EAGLE3 draft before a known target: which layers are tapped is then no question."""
    open_notes = [note for note in reading.notes if note.startswith(OPEN_TARGET)]
    ids = None if reading.layer_ids is None else reading.layer_ids.after
    if not open_notes or ids is None:
        return reading
    notes = tuple(note for note in reading.notes if note not in open_notes)
    if model_type not in DEEPSEEK_LIKE:
        return replace(reading, notes=notes)
    taps = tuple(each - 1 for each in ids)
    said = (
        f"on this target ({model_type}) it taps the outputs of layers {joined([str(each) for each in taps])}"
    )
    return replace(reading, layer_ids=LayerIds(taps), notes=(*notes, f"{said} (sgl-project/sglang#25454)"))


def check_silu(seen: Mapping[str, Any], source: str) -> None:
    """Llama, Qwen3 and DeepSeek MLPs of every engine read here."""
    act = seen.get("hidden_act")
    if act != "silu":
        raise Refused(
            f"Unsupported activation: {act}. Only silu is supported for now", source, key="hidden_act"
        )


def check_layers(seen: Mapping[str, Any]) -> Refusal | None:
    """A number of layers that no draft has, or a size that is no integer, before anything is built from it.
    Both engines end in a TypeError there."""
    for key in ("draft_vocab_size", "target_hidden_size", "num_aux_hidden_states"):
        size = seen.get(key)
        if size is not None and type(size) is not int:
            return Refusal("config", f"{key} is {size!r}, not an integer", "zoo", key=key)
    layers = seen.get("num_hidden_layers")
    if not isinstance(layers, int) or isinstance(layers, bool) or not 0 < layers <= 1000:
        return Refusal("config", f"num_hidden_layers {layers!r} is no number of draft layers", "zoo")
    return None
