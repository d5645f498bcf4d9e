"""SGLang's reading of DFlash, DFlash2, Domino and DSpark drafts.

Sources: sglang 0.5.14 and 0.5.23, models/dflash.py, models/dspark.py, speculative/dflash_utils.py
(parse_dflash_draft_config), speculative/dspark_components/dspark_config.py. 0.5.14 has plain DFlash only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zoo.engines.readings.model import Fate, LayerIds, Missing, Refusal, Tensors
from zoo.engines.readings.parameters import (
    Load,
    Parameter,
    attention,
    mlp,
    norms,
    prefixed,
    whole,
)

_UTILS = "sglang speculative/dflash_utils.py"
_MODEL = "sglang models/dflash.py"
_DSPARK = "sglang models/dspark.py"
_STACKED = (
    ("q_proj", "qkv_proj", "q"),
    ("k_proj", "qkv_proj", "k"),
    ("v_proj", "qkv_proj", "v"),
    ("gate_proj", "gate_up_proj", "0"),
    ("up_proj", "gate_up_proj", "1"),
)
_ENCODER = {"encoder.fc.weight": "fc.weight", "encoder.output_norm_enc.weight": "hidden_norm.weight"}
_PLAIN_KEYS = ("block_size", "mask_token", "mask_token_id", "num_target_layers", "target_layer_ids")
_NEW_KEYS = (
    "attention_sink_bias attention_value_scale conv_group_size conv_kernel_size emb_dim "
    "final_logit_softcapping gru_hidden_dim output_multiplier projector_type pure_draft_prefix_len "
    "sample_from_anchor selector_rank selector_top_k shift_label swa_window_size"
).split()
_DSPARK_KEYS = ("markov_rank", "markov_head_type")
BLOCK_KEYS = {
    "0.5.14": _PLAIN_KEYS,
    "0.5.23": (*_PLAIN_KEYS, *_NEW_KEYS, *_DSPARK_KEYS),
}


class Refused(Exception):
    """The engine raises while it reads the config."""

    def __init__(self, reason: str, source: str, key: str | None = None) -> None:
        super().__init__(reason)
        self.refusal = Refusal("config", reason, source, key=key)


class DFlashDraft:
    """A config as ``parse_dflash_draft_config`` of one version reads it, and the class that it builds.

    Raises:
        Refused: the engine stops at this config.
    """

    def __init__(
        self, seen: Mapping[str, Any], architecture: str, version: str, target_layers: int | None
    ) -> None:
        self.seen, self.architecture, self.version, self.target_layers = (
            seen,
            architecture,
            version,
            target_layers,
        )
        self.modern = version != "0.5.14"
        block = seen.get("dflash_config")
        self.block: Mapping[str, Any] = block if isinstance(block, Mapping) else {}
        self.notes: list[str] = []
        self.layers = self._integer("num_hidden_layers", seen.get("num_hidden_layers"), 1)
        depth = self.block.get("num_target_layers", seen.get("num_target_layers"))
        self.depth = self._optional("num_target_layers", depth, 1)
        size = self.block.get("block_size", seen.get("block_size"))
        self.block_size = self._optional("block_size", size, 1)
        self.ids = self._ids()
        self._mask_token()
        self.taps, self.group = self._pair("conv_kernel_size", "conv_group_size")
        self.rank, self.top_k = self._pair("selector_rank", "selector_top_k")
        self.projector = self._either("projector_type") if self.modern else None
        self.gru, self.emb = self._domino() if self.projector == "domino" else (0, 0)
        self.layer_ids = self._layer_ids()
        self._layer_types()
        self._shapes()

    @property
    def dspark(self) -> bool:
        return "DSpark" in self.architecture

    def _either(self, key: str) -> Any:
        return self.block.get(key, self.seen.get(key))

    def _optional(self, name: str, value: Any, least: int) -> int | None:
        return None if value is None else self._integer(name, value, least)

    def _integer(self, name: str, value: Any, least: int) -> int:
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError):
            raise Refused(f"Invalid DFLASH {name}={value!r}", _UTILS) from None
        if number < least:
            raise Refused(f"DFLASH {name} must be at least {least}, got {number}", _UTILS)
        return number

    def _ids(self) -> tuple[int, ...] | None:
        ids = self._either("target_layer_ids")
        if ids is None:
            return None
        if not isinstance(ids, list) or not ids:
            raise Refused("DFLASH dflash_config.target_layer_ids must be a non-empty list of ints", _UTILS)
        return tuple(self._integer("target_layer_ids", value, -(10**9)) for value in ids)

    def _mask_token(self) -> None:
        look: Callable[[str], Any] = self._either if self.modern else self.block.get
        token, number = look("mask_token"), look("mask_token_id")
        if token is not None and (not isinstance(token, str) or not token):
            raise Refused(f"DFLASH mask_token must be a non-empty string, got {token!r}", _UTILS)
        if number is None and not self.dspark:
            beside = self.seen.get("mask_token_id") is not None and not self.modern
            why = "reads none at the top level" if beside else "finds none"
            self.notes.append(
                f"it {why}, so the mask token is the tokenizer's id of {token or '<|MASK|>'!r}, "
                "added to the tokenizer where it has none"
            )
        elif number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
            raise Refused(f"DFLASH mask_token_id must be a non-negative integer, got {number!r}", _UTILS)

    def _pair(self, one: str, other: str) -> tuple[int, int]:
        if not self.modern:
            return 0, 0
        values = [self._integer(key, self.block.get(key, 0) or 0, 0) for key in (one, other)]
        if bool(values[0]) != bool(values[1]):
            raise Refused(f"DFLASH needs {one} and {other} together, got {values[0]} and {values[1]}", _UTILS)
        return values[0], values[1]

    def _domino(self) -> tuple[int, int]:
        if not isinstance(self._either("shift_label"), bool):
            raise Refused("DFLASH Domino requires dflash_config.shift_label to be a bool", _UTILS)
        if self._optional("pure_draft_prefix_len", self._either("pure_draft_prefix_len"), 0) != 1:
            raise Refused("DFLASH Domino currently requires pure_draft_prefix_len=1", _UTILS)
        gru = self._optional("gru_hidden_dim", self._either("gru_hidden_dim"), 1)
        inside = self._optional("emb_dim", self.block.get("emb_dim"), 1)
        outside = self._optional("emb_dim", self.seen.get("emb_dim"), 1)
        if inside is not None and outside is not None and inside != outside:
            raise Refused(f"DFLASH Domino emb_dim differs between its places: {inside} != {outside}", _UTILS)
        if gru is None:
            raise Refused("DFLASH Domino requires dflash_config.gru_hidden_dim", _UTILS)
        emb = inside if inside is not None else outside
        if emb is None:
            raise Refused("DFLASH Domino requires dflash_config.emb_dim", _UTILS)
        if self.block_size == 1:
            raise Refused("DFLASH Domino requires block_size > 1, got 1", _UTILS)
        return gru, emb

    def _layer_ids(self) -> LayerIds:
        """The ids for the running target; the class itself is built with the depth that the config states."""
        if self.depth is not None:
            bound = self.depth
        elif self.ids is not None and self.modern:
            bound = max(self.ids) + 1
        else:
            bound = self.layers
        stated = self._resolve(bound, "num_target_layers" if self.depth is not None else "")
        if self.ids is None:
            if self.target_layers is None and self.depth is None:
                return LayerIds(None, guessed=True)
            return LayerIds(self._resolve(self.target_layers or bound, ""), guessed=True)
        if self.target_layers is not None:
            self._resolve(self.target_layers, "the target's layers")
            if self.depth is not None and self.depth != self.target_layers:
                self.notes.append(
                    f"num_target_layers {self.depth} is not the target's {self.target_layers}: only a warning"
                )
        return LayerIds(stated)

    def _resolve(self, bound: int, what: str) -> tuple[int, ...]:
        if self.ids is None:
            return _guess(bound, self.layers)
        for value in self.ids:
            if not 0 <= value < bound:
                so = f", which it takes from {what}" if what else ""
                if not what and not self.modern:
                    so = " (the draft's own layers, since num_target_layers is absent)"
                raise Refused(
                    f"DFLASH target_layer_ids contains an out-of-range layer id: {value} of {bound}{so}",
                    _UTILS,
                )
        return self.ids

    def _layer_types(self) -> None:
        types = self.seen.get("layer_types")
        if types is None:
            return
        if not isinstance(types, list):
            raise Refused("DFLASH config.layer_types must be a sequence of attention type strings", _UTILS)
        if len(types) < self.layers:
            raise Refused("DFLASH config.layer_types must contain one entry per draft layer", _MODEL)
        for kind in types[: self.layers]:
            if kind not in ("full_attention", "sliding_attention"):
                raise Refused(f"Unsupported DFLASH draft layer type {kind!r}", _MODEL)
        if "sliding_attention" in types and self.seen.get("sliding_window") is None:
            raise Refused("DFLASH sliding_attention layers require config.sliding_window", _UTILS)

    def _shapes(self) -> None:
        seen = self.seen
        for key in ("hidden_size", "num_attention_heads"):
            self._integer(key, seen.get(key), 1)
        if self._integer("intermediate_size", seen.get("intermediate_size", 0), -(10**9)) <= 0:
            raise Refused(f"Invalid intermediate_size={seen.get('intermediate_size')} for DFlash MLP", _MODEL)
        act = seen.get("hidden_act", "silu")
        known = ("silu", "swigluoai") if self.modern else ("silu",)
        if act not in known:
            raise Refused(
                f"Unsupported DFlash activation: {act}. It knows {' and '.join(known)}",
                _MODEL,
                key="hidden_act",
            )
        if self.taps and seen["hidden_size"] % self.group:
            raise Refused(f"DFLASH conv_group_size={self.group} must divide hidden_size", _MODEL)
        if "DFlash2" in self.architecture and not self.rank:
            raise Refused("DFlash selector draft requires dflash_config.selector_rank", _MODEL)

    def parameters(self) -> dict[str, Parameter]:
        """The parameters of the class, before the heads of DSpark."""
        seen, hidden = self.seen, self.seen["hidden_size"]
        made: dict[str, Parameter] = {}
        biases = "qkvo" if seen.get("attention_bias") else ""
        for index in range(self.layers):
            layer = f"layers.{index}."
            made |= norms(layer, ("input_layernorm", "post_attention_layernorm"), hidden)
            made |= attention(f"{layer}self_attn", seen, hidden, norms=True, biases=biases)
            made |= mlp(f"{layer}mlp", seen)
            made |= self._additions(layer, seen)
        features = len(self.ids) if self.ids is not None else self.layers
        made["fc.weight"] = whole("fc.weight", hidden, features * hidden)
        made |= norms("", ("hidden_norm", "norm"), hidden)
        made |= self._heads(hidden, features)
        return made

    def _additions(self, layer: str, seen: Mapping[str, Any]) -> dict[str, Parameter]:
        hidden = seen["hidden_size"]
        made: dict[str, Parameter] = {}
        if self.taps:
            for conv in (f"{layer}attention_conv", f"{layer}mlp_conv"):
                made[f"{conv}.base_kernel"] = whole(
                    f"{conv}.base_kernel", 2, self.taps, hidden, unfilled=Missing.DEFAULT
                )
                rows = 2 * self.taps * (hidden // self.group)
                made[f"{conv}.kernel_projection.weight"] = whole(
                    f"{conv}.kernel_projection.weight", rows, hidden
                )
        if self.modern and self.block.get("attention_sink_bias") is True:
            name = f"{layer}self_attn.attention_sink_bias"
            made[name] = whole(name, seen["num_attention_heads"], rule="rows")
        gate = self._gate() if self.architecture == "DFlashLagunaForCausalLM" else 0
        if gate:
            name = f"{layer}self_attn.g_proj.weight"
            made[name] = whole(name, seen["num_attention_heads"] * gate, hidden, rule="rows")
        return made

    def _gate(self) -> int:
        """Rows per head of Laguna's gate, 0 without one (configs/laguna.py, normalize_gating)."""
        gating = self.seen.get("gating", True)
        if gating in (True, "per-head"):
            return 1
        if gating in (False, None, "disabled"):
            return 0
        if gating != "per-element":
            raise Refused(
                f"gating must be one of True, False, None, per-head, per-element, disabled; got {gating!r}",
                "sglang configs/laguna.py",
            )
        return int(self.seen.get("head_dim", 128))

    def _heads(self, hidden: int, features: int) -> dict[str, Parameter]:
        made: dict[str, Parameter] = {}
        vocab = self.seen.get("vocab_size", 0)
        if self.projector == "domino":
            shapes = {
                "prefix_gru.weight_ih_l0": (3 * self.gru, hidden),
                "prefix_gru.weight_hh_l0": (3 * self.gru, self.gru),
                "embed_proj.0.weight": (self.emb, hidden + self.gru),
                "embed_proj.2.weight": (vocab, self.emb),
            }
            made |= {name: whole(name, *shape) for name, shape in shapes.items()}
        if "DFlash2" in self.architecture:
            for name in ("predecessor_codebook", "successor_codebook"):
                full = f"candidate_selector.{name}"
                made[full] = whole(full, vocab, self.rank, unfilled=Missing.DEFAULT)
            full = "candidate_selector.hidden_projection.weight"
            made[full] = whole(full, self.rank, hidden)
        if self.architecture == "DFlashLagunaForCausalLM":
            made |= norms("aux_hidden_norms.", map(str, range(features)), hidden)
        return made

    def load(self, tensors: Tensors) -> Load:
        made = Load(self.parameters(), _MODEL, pads=True)
        self._load_backbone(made, tensors)
        if self.projector == "domino":
            needed = [name for name in made.parameters if name.startswith(("prefix_gru.", "embed_proj."))]
            absent = [name for name in needed if (name, "") not in made.filled]
            if absent:
                reason = (
                    f"DFLASH Domino checkpoint is missing required projector weights: {', '.join(absent)}"
                )
                made.refusals.append(Refusal("tensor", reason, _MODEL))
        return made

    def _load_backbone(self, made: Load, tensors: Tensors) -> None:
        for name, (_, shape) in tensors.items():
            domino = name.removeprefix("model.").startswith(("prefix_gru.", "embed_proj."))
            if self.modern and domino and self.projector != "domino":
                reason = (
                    "DFLASH checkpoint contains Domino projector weights but "
                    f"projector_type={self.projector!r}"
                )
                made.refuse(name, reason)
                continue
            found = self._place(name, made.parameters)
            if found is None:
                made.fates[name] = Fate.IGNORED
            else:
                made.put(name, shape, *found)

    def _place(self, name: str, parameters: Mapping[str, Parameter]) -> tuple[str, str] | None:
        """The parameter and shard that the loader picks for ``name``."""
        for part, fused, shard in _STACKED:
            if f".{part}." in name:
                resolved = self._resolved(name.replace(part, fused), parameters)
                if resolved is not None:
                    return resolved, shard
        resolved = self._resolved(name, parameters)
        return None if resolved is None else (resolved, "")

    def _resolved(self, name: str, parameters: Mapping[str, Parameter]) -> str | None:
        spellings = [name, name.removeprefix("model.")]
        if self.modern:
            spellings.append(_ENCODER.get(name, name))
        return next((each for each in spellings if each in parameters), None)


class DSparkDraft(DFlashDraft):
    """The dense DSpark classes of SGLang 0.5.23: the DFlash class with a Markov head.

    The confidence head is built only where SGLANG_RAGGED_VERIFY_MODE is not its default, ``static``; it
    decides how much to verify, not what is drafted.
    """

    def __init__(
        self, seen: Mapping[str, Any], architecture: str, version: str, target_layers: int | None
    ) -> None:
        super().__init__(seen, architecture, version, target_layers)
        nested = seen.get("dspark_config")
        block = {**self.block, **(nested if isinstance(nested, Mapping) else {})}
        rank = self._integer("markov_rank", block.get("markov_rank", seen.get("markov_rank", 0)) or 0, 0)
        kind = block.get("markov_head_type", seen.get("markov_head_type"))
        config = "sglang speculative/dspark_components/dspark_config.py"
        if not rank:
            reason = "DSpark draft requires markov_rank > 0, got markov_rank=0"
            raise Refused(reason, config, key="markov_rank")
        if kind is None:
            reason = "DSpark requires markov_head_type when markov_rank > 0, got None"
            raise Refused(reason, config, key="markov_rank")
        if block.get("mask_token_id", seen.get("mask_token_id")) is None:
            reason = "DSpark requires mask_token_id to be set in the draft model config"
            raise Refused(reason, config, key="mask_token_id")
        # The head is built from the top level alone (build_markov_head), whatever the parser found.
        built = self._integer("markov_rank", seen.get("markov_rank", 0) or 0, 0)
        if not built:
            raise Refused(
                "DSpark requires markov_rank > 0, got markov_rank=0: the head is built from the top level of "
                f"config.json, and the rank of {rank} stands only in dflash_config",
                f"{_DSPARK}, build_markov_head",
                key="markov_rank",
            )
        self.markov_rank = built
        self.markov_kind = str(seen.get("markov_head_type", "vanilla")).lower()
        if self.markov_kind not in ("vanilla", "gated", "rnn"):
            raise Refused(f"Unsupported DSpark markov_head_type={self.markov_kind!r}", _DSPARK)

    def parameters(self) -> dict[str, Parameter]:
        made = super().parameters()
        hidden, vocab, rank = self.seen["hidden_size"], self.seen["vocab_size"], self.markov_rank
        shapes: dict[str, tuple[int, ...]] = {
            "markov_w1.weight": (vocab, rank),
            "markov_w2.weight": (vocab, rank),
        }
        if self.markov_kind == "gated":
            shapes |= {"gate_proj.weight": (rank, hidden + rank), "gate_proj.bias": (rank,)}
        if self.markov_kind == "rnn":
            shapes |= {"joint_proj.weight": (3 * rank, 2 * rank + hidden), "joint_proj.bias": (3 * rank,)}
        return made | prefixed(
            "markov_head.", {name: whole(f"markov_head.{name}", *shape) for name, shape in shapes.items()}
        )

    def load(self, tensors: Tensors) -> Load:
        made = Load(self.parameters(), _DSPARK, pads=True)
        backbone: dict[str, tuple[str, tuple[int, ...]]] = {}
        for name, (dtype, shape) in tensors.items():
            plain = name.removeprefix("model.")
            if plain.startswith("rotary_emb."):
                made.fates[name] = Fate.SKIPPED
            elif plain.startswith(("lm_head.", "embed_tokens.")):
                made.fates[name] = Fate.BORROWED
            elif name.startswith("confidence_head."):
                made.fates[name] = Fate.SKIPPED
            elif name.startswith("markov_head."):
                if name in made.parameters:
                    made.put(name, shape, name)
                else:
                    made.refuse(
                        name, f"DSpark unexpected markov weight {name!r} not found in model parameters"
                    )
            else:
                backbone[name] = (dtype, shape)
        self._load_backbone(made, backbone)
        if any(name.startswith("confidence_head.") for name in tensors):
            made.notes.append(
                "the confidence head is built only with SGLANG_RAGGED_VERIFY_MODE other than its default "
                "(static); it chooses how much to verify, not what is drafted"
            )
        return made


def _guess(depth: int, layers: int) -> tuple[int, ...]:
    """``build_target_layer_ids``: evenly spaced over the target."""
    if layers == 1:
        return (depth // 2,)
    if depth < 4:
        raise Refused(f"DFLASH layer selection requires num_target_layers >= 4, got {depth}", _UTILS)
    return tuple(round(1 + index * (depth - 4) / (layers - 1)) for index in range(layers))
