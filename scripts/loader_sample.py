"""A seeded sample of tiny drafts with one defect each, and what the real loader of SGLang does with them.

    python scripts/loader_sample.py tests/engines/loader/sglang-0.5.14.json

runs the whole sample through scripts/sglang_loader.py, in an environment that has SGLang (docs/loader.md),
and writes the record; a second run writes the same bytes. Making drafts and mutations needs the standard
library and zoo only, so the tests build the same drafts again and ask the verifier about them.

The record: ``seed``; ``bases``: family, config, tensors (name -> [dtype, shape]) and what the engine reads;
``samples``: base, kind and args (:func:`mutate` gives the draft back), the mutation in words, and the
engine's answer, without what is as it should be: ``error``, ``untouched``, ``partly``, ``ignored``,
``overwritten``, ``cut``, ``warnings``, and ``padded``, ``replaced`` and ``reads`` only where they differ from
the base's (null: absent; engines pad a vocabulary to a multiple of 64 rows). A parameter that is replaced by
the target's is not listed as untouched.
"""

from __future__ import annotations

import copy
import json
import random
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from zoo.drafts import Inventory, TensorSpec
from zoo.drafts.family import FAMILIES

SEED = 20514
DTYPE = "bfloat16"
Json = dict[str, Any]

SHAPE = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "hidden_act": "silu",
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "dtype": DTYPE,
}
DFLASH: Json = {
    **SHAPE,
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "num_hidden_layers": 2,
    "attention_bias": False,
    "layer_types": ["full_attention"] * 2,
    "num_target_layers": 9,
    "block_size": 4,
    "dflash_config": {"target_layer_ids": [1, 4], "mask_token_id": 95},
}
EAGLE3: Json = {
    **SHAPE,
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "attention_bias": False,
    "draft_vocab_size": 20,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 4, 7], "use_aux_hidden_state": True},
}
MLA: Json = {
    **{key: value for key, value in EAGLE3.items() if key != "head_dim"},
    "architectures": ["Eagle3DeepseekV2ForCausalLM"],
    "model_type": "kimi_k2",
    "num_key_value_heads": 4,
    "q_lora_rank": 14,
    "kv_lora_rank": 10,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 6,
}
HEADS: Mapping[str, Json] = {
    "dflash2": {"conv_kernel_size": 2, "conv_group_size": 8, "selector_rank": 5, "selector_top_k": 4},
    "domino": {"projector_type": "domino", "gru_hidden_dim": 10, "emb_dim": 6, "pure_draft_prefix_len": 1},
    "dspark": {"projector_type": "dspark", "markov_rank": 5, "markov_head_type": "vanilla"}
    | {"enable_confidence_head": True, "confidence_head_with_markov": True},
}
# Published drafts of this kind differ in their tensors; these are the names that the class asks for.
MLA_SHAPES: Mapping[str, tuple[int, ...]] = {
    "fc.weight": (32, 96),
    "norm.weight": (32,),
    "lm_head.weight": (20, 32),
    "layers.0.input_layernorm.weight": (32,),
    "layers.0.hidden_norm.weight": (32,),
    "layers.0.post_attention_layernorm.weight": (32,),
    "layers.0.self_attn.q_a_proj.weight": (14, 64),
    "layers.0.self_attn.q_a_layernorm.weight": (14,),
    "layers.0.self_attn.q_b_proj.weight": (4 * 12, 14),
    "layers.0.self_attn.kv_a_proj_with_mqa.weight": (14, 64),
    "layers.0.self_attn.kv_a_layernorm.weight": (10,),
    "layers.0.self_attn.kv_b_proj.weight": (4 * 14, 10),
    "layers.0.self_attn.o_proj.weight": (32, 4 * 6),
    "layers.0.mlp.gate_proj.weight": (40, 32),
    "layers.0.mlp.up_proj.weight": (40, 32),
    "layers.0.mlp.down_proj.weight": (32, 40),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A tiny draft. ``tensors`` in the order of the file."""

    family: str
    config: Json
    tensors: Inventory


@dataclass(frozen=True, slots=True)
class Sample:
    """One mutation of one base: what :func:`mutate` needs, and the same in words."""

    base: str
    kind: str
    args: Json
    words: str


def made(
    family: str, config: Json, spell: Callable[[str], str] = lambda name: name, extra: str = ""
) -> Draft:
    """A draft of ``config`` with exactly its inventory and the optional tensor ``extra``; ``spell`` gives the
    names."""
    known = next(known for known in FAMILIES if known.name == family)
    tensors = dict(known.inventory(config, DTYPE))
    if extra:
        tensors[extra] = {**tensors, **known.optional(config, DTYPE)}[extra]
    return Draft(family, config, {spell(name): spec for name, spec in sorted(tensors.items())})


def headed(family: str) -> Draft:
    """A draft with a head, under the name of plain DFlash."""
    return made(family, {**DFLASH, "dflash_config": {**DFLASH["dflash_config"], **HEADS[family]}})


BASES: Mapping[str, Draft] = {
    "dflash": made("dflash", DFLASH),
    # The head size that some take for granted, hidden size / heads.
    "dflash, biases": made("dflash", {**DFLASH, "attention_bias": True, "head_dim": 8}),
    "dflash, prefix model.": made("dflash", DFLASH, lambda name: f"model.{name}"),
    "dflash, sliding": made(
        "dflash",
        {**DFLASH, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 8}
        | {"use_sliding_window": True, "max_window_layers": 0},
    ),
    "eagle3, midlayer": made("eagle3", EAGLE3),
    "eagle3, layers.0": made("eagle3", EAGLE3, lambda name: name.replace("midlayer.", "layers.0.")),
    "eagle3, whole vocabulary": made("eagle3", {**EAGLE3, "draft_vocab_size": 96}),
    "eagle3, embedding": made("eagle3", EAGLE3, extra="embed_tokens.weight"),
    "eagle3, target hidden": made(
        "eagle3", {**EAGLE3, "target_hidden_size": 24}, extra="embed_tokens.weight"
    ),
    "eagle3.1, fc_norm": made("eagle3", {**EAGLE3, "fc_norm": True, "norm_output": True}),
    "eagle3, mla": Draft(
        "eagle3",
        MLA,
        dict(sorted({name: TensorSpec("BF16", shape) for name, shape in MLA_SHAPES.items()}.items()))
        | {"d2t": TensorSpec("I64", (20,)), "t2d": TensorSpec("BOOL", (96,))},
    ),
    **{f"{family} as DFlashDraftModel": headed(family) for family in HEADS},
}

# Config keys to change: JSON pointer -> values; None removes the key.
COMMON: Mapping[str, Sequence[Any]] = {
    "/architectures": (["DFlash2DraftModel"], ["Qwen3DSparkModel"], ["LlamaForCausalLMEagle3"], None),
    "/model_type": ("llama", "qwen2", "dflash", None),
    "/hidden_size": (16, 40, None),
    "/intermediate_size": (20, 48, None),
    "/num_hidden_layers": (3, 4, None),
    "/num_attention_heads": (2, 8, None),
    "/num_key_value_heads": (1, 4, None),
    "/head_dim": (6, 16, None),
    "/attention_bias": (True, False),
    "/hidden_act": ("gelu", None),
    "/rms_norm_eps": (1e-3, None),
    "/rope_theta": (10000.0, None),
    "/rope_scaling": ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},),
    "/max_position_embeddings": (32, None),
    "/vocab_size": (64, None),
    "/dtype": ("float32", None),
    "/quantization_config": ({"quant_method": "fp8"},),
}
DFLASH_KEYS: Mapping[str, Sequence[Any]] = {
    "/block_size": (8, "4", 0, None),
    "/num_target_layers": (4, 12, None),
    "/layer_types": (["full_attention"], ["sliding_attention"] * 2, ["linear_attention"] * 2, None),
    "/dflash_config": (None,),
    "/dflash_config/target_layer_ids": ([1, 5], [4, 1], [1], [1, 4, 7], [1, 9], [], None),
    "/dflash_config/mask_token_id": (94, 96, "95", None),
    "/dflash_config/block_size": (2,),
    "/dflash_config/num_target_layers": (5,),
}
EAGLE3_KEYS: Mapping[str, Sequence[Any]] = {
    "/draft_vocab_size": (10, 24, None),
    "/target_hidden_size": (24, 32, None),
    "/num_aux_hidden_states": (2, 3, 4),
    "/eagle_config": (None,),
    "/eagle_config/eagle_aux_hidden_state_layer_ids": ([1, 4], [1, 4, 6], [1, 4, 7, 8], None),
    "/fc_norm": (True, False),
    "/norm_output": (True, None),
    "/bias": (True,),
    "/tie_word_embeddings": (True,),
    "/kv_lora_rank": (8,),
}
PREFIXES = ("model.", "draft_model.", "module.", "_orig_mod.")
# How many of each kind a base gets. Every tensor is dropped once; three bases try every config value.
COUNTS = {
    "prefix": 2,
    "rename": 5,
    "swap": 3,
    "reshape": 5,
    "recast": 2,
    "duplicate": 4,
    "config": 6,
    "null": 4,
}
ALL_KEYS = ("dflash", "dflash, biases", "eagle3, midlayer")


def samples(seed: int = SEED) -> list[Sample]:
    """The sample: every base as it is, then a seeded choice of each kind of mutation."""
    chosen = []
    for base, draft in BASES.items():
        chosen.append(Sample(base, "none", {}, "as it is"))
        for kind, options_of in KINDS.items():
            choice = random.Random(f"{seed} {base} {kind}")
            options = list(options_of(draft, choice))
            if kind != "drop" and not (kind in ("config", "null") and base in ALL_KEYS):
                options = choice.sample(options, min(COUNTS[kind], len(options)))
            chosen += [Sample(base, kind, args, words) for args, words in options]
    return chosen


Options = Iterator[tuple[Json, str]]


def _prefix(draft: Draft, choice: random.Random) -> Options:
    for prefix in PREFIXES:
        yield {"prefix": prefix}, f"all names get the prefix {prefix}"


def _drop(draft: Draft, choice: random.Random) -> Options:
    for name in draft.tensors:
        yield {"tensor": name}, f"{name} is missing"


def _rename(draft: Draft, choice: random.Random) -> Options:
    for name in draft.tensors:
        yield from (
            ({"tensor": name, "to": to}, f"{name} is called {to}") for to in _foreign(draft, name, choice)
        )


def _foreign(draft: Draft, name: str, choice: random.Random) -> Iterator[str]:
    """Names that other frameworks or mistakes give the tensor ``name``, all of them new."""
    known = {
        "layers.0.": "midlayer.",
        "layers.1.": "layers.7.",
        "midlayer.": "layers.1.",
        "hidden_norm.": "context_norm.",
        "fc_norm.0": "aux_norm_low",
        "q_proj": "qkv_proj",
        "gate_proj": "gate_up_proj",
        "_layernorm": "_norm",
        ".weight": "",
    }
    options = {choice.choice(PREFIXES) + name, f"{name}_{choice.randrange(10_000):04}"}
    options |= {name.replace(old, new, 1) for old, new in known.items() if old in name}
    if name.endswith("fc.weight"):
        options |= {name.replace("fc.", other) for other in ("context_proj.", "encoder.fc.")}
    yield from sorted(options - set(draft.tensors))


def _swap(draft: Draft, choice: random.Random) -> Options:
    names = list(draft.tensors)
    for one in names:
        other = choice.choice([name for name in names if name != one])
        yield {"tensors": [one, other]}, f"{one} and {other} have each other's place"
        alike = [name for name in names if name != one and draft.tensors[name] == draft.tensors[one]]
        if alike:
            other = choice.choice(alike)
            yield {"tensors": [one, other]}, f"{one} and {other}, of one shape, have each other's place"


def _reshape(draft: Draft, choice: random.Random) -> Options:
    for name, spec in draft.tensors.items():
        first, *rest = spec.shape
        shapes = [(first + 1, *rest), (first - 1, *rest), (first * 2, *rest), (1, *spec.shape)]
        if rest:
            shapes += [tuple(reversed(spec.shape)), (first, rest[0] + 1), (first * rest[0],)]
        for shape in shapes:
            if shape != spec.shape and 0 not in shape:
                yield (
                    {"tensor": name, "shape": list(shape)},
                    f"{name} is {list(shape)}, not {list(spec.shape)}",
                )


def _recast(draft: Draft, choice: random.Random) -> Options:
    for name, spec in draft.tensors.items():
        for dtype in ("F32", "F16", "F64", "I32", "F8_E4M3"):
            yield {"tensor": name, "dtype": dtype}, f"{name} is {dtype}, not {spec.dtype}"


def _duplicate(draft: Draft, choice: random.Random) -> Options:
    for name, spec in draft.tensors.items():
        options = [f"model.{name}", f"extra.{name}", f"{name}_copy"]
        options += [name.replace("layers.1.", "layers.2.")] if "layers.1." in name else []
        options += ["layers.0.self_attn.rotary_emb.inv_freq"] if len(spec.shape) == 1 else []
        options += ["lm_head.weight", "embed_tokens.weight"] if name == "fc.weight" else []
        for other in options:
            if other not in draft.tensors:
                yield {"tensor": name, "as": other}, f"{name} is there again as {other}"


def _config(draft: Draft, choice: random.Random) -> Options:
    own = EAGLE3_KEYS if draft.family == "eagle3" else DFLASH_KEYS
    for pointer, values in {**COMMON, **own}.items():
        absent = _lookup(draft.config, pointer)
        for value in values:
            if value != absent:
                words = f"{pointer} is absent" if value is None else f"{pointer} is {json.dumps(value)}"
                yield {"pointer": pointer, "value": value}, f"{words}, not {json.dumps(absent)}"


def _null(draft: Draft, choice: random.Random) -> Options:
    for key, value in draft.config.items():
        for pointer in [
            f"/{key}",
            *(f"/{key}/{inner}" for inner in (value if isinstance(value, dict) else ())),
        ]:
            stated = json.dumps(_lookup(draft.config, pointer))
            yield {"pointer": pointer}, f"{pointer} is null, not {stated}"


def _lookup(config: Json, pointer: str) -> Any:
    found: Any = config
    for key in pointer[1:].split("/"):
        found = found.get(key) if isinstance(found, dict) else None
    return found


KINDS: Mapping[str, Callable[[Draft, random.Random], Options]] = {
    "prefix": _prefix,
    "drop": _drop,
    "rename": _rename,
    "swap": _swap,
    "reshape": _reshape,
    "recast": _recast,
    "duplicate": _duplicate,
    "config": _config,
    "null": _null,
}


def mutate(draft: Draft, kind: str, args: Json) -> Draft:
    """``draft`` with one mutation. The order of the tensors stays; what is new comes last."""
    tensors = dict(draft.tensors)
    match kind:
        case "none":
            return draft
        case "config":
            return replace(
                draft, config=_set(draft.config, args["pointer"], args["value"], args["value"] is None)
            )
        case "null":
            return replace(draft, config=_set(draft.config, args["pointer"], None, absent=False))
        case "prefix":
            tensors = {args["prefix"] + name: spec for name, spec in tensors.items()}
        case "drop":
            del tensors[args["tensor"]]
        case "rename":
            tensors = {args["to"] if name == args["tensor"] else name: spec for name, spec in tensors.items()}
        case "swap":
            one, other = args["tensors"]
            places = {one: other, other: one}
            tensors = {places.get(name, name): spec for name, spec in tensors.items()}
        case "reshape":
            tensors[args["tensor"]] = tensors[args["tensor"]]._replace(shape=tuple(args["shape"]))
        case "recast":
            tensors[args["tensor"]] = tensors[args["tensor"]]._replace(dtype=args["dtype"])
        case "duplicate":
            tensors[args["as"]] = tensors[args["tensor"]]
        case _:
            raise ValueError(f"no mutation is called {kind}")
    return replace(draft, tensors=tensors)


def _set(config: Json, pointer: str, value: Any, absent: bool) -> Json:
    changed = copy.deepcopy(config)
    *outer, key = pointer[1:].split("/")
    block = changed
    for name in outer:
        block = block.setdefault(name, {})
    if absent:
        del block[key]
    else:
        block[key] = value
    return changed


# Numbers that every dtype above holds exactly: one for each tensor of a file.
NUMBERS = [number for number in range(2, 449) if number.bit_length() - (number & -number).bit_length() <= 3]
ELEMENT: Mapping[str, Callable[[int], bytes]] = {
    "F32": lambda number: struct.pack("<f", number),
    "BF16": lambda number: struct.pack("<f", number)[2:],
    "F16": lambda number: struct.pack("<e", number),
    "F64": lambda number: struct.pack("<d", number),
    "I32": lambda number: struct.pack("<i", number),
    "I64": lambda number: struct.pack("<q", number),
    "BOOL": lambda number: bytes([bool(number)]),
    # Sign 0, exponent biased by 7, three bits of mantissa: the middle bits of the half-precision number.
    "F8_E4M3": lambda number: bytes([(struct.unpack("<H", struct.pack("<e", number))[0] >> 7) - 64]),
}


def write(draft: Draft, folder: Path) -> None:
    """config.json and model.safetensors of ``draft``. Each tensor holds one number of its own; only the maps
    between the vocabularies are as they should be, since the verifier reads them."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(draft.config), encoding="utf-8")
    numbers = dict(zip(sorted(draft.tensors), NUMBERS, strict=False))
    header: Json = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, spec in draft.tensors.items():
        begin = len(data)
        data += b"".join(map(ELEMENT[spec.dtype], _content(name, spec, numbers[name])))
        header[name] = {"dtype": spec.dtype, "shape": spec.shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)


def _content(name: str, spec: TensorSpec, number: int) -> Iterator[int]:
    """Draft token i is token 4 * i + 1 of the target (+ 2 in a second map); other tensors are constant."""
    for index in range(spec.elements):
        if "t2d" in name:
            yield int(index % 4 == 1 and index < 80)
        elif "d2t" in name:
            yield 3 * index + (1 if name == "d2t" else 2)
        else:
            yield number


def as_json(draft: Draft) -> Json:
    tensors = {name: [spec.dtype, list(spec.shape)] for name, spec in draft.tensors.items()}
    return {"family": draft.family, "config": draft.config, "tensors": tensors}


def from_json(stated: Json) -> Draft:
    tensors = {name: TensorSpec(dtype, tuple(shape)) for name, (dtype, shape) in stated["tensors"].items()}
    return Draft(stated["family"], stated["config"], tensors)


def record() -> Json:
    """The whole sample, run through the engine."""
    import safetensors
    import torch
    import transformers
    from sglang_loader import load

    bases = {name: as_json(draft) for name, draft in BASES.items()}
    rows = []
    with tempfile.TemporaryDirectory() as top:
        for number, sample in enumerate(samples()):
            folder = Path(top) / str(number)
            write(mutate(BASES[sample.base], sample.kind, sample.args), folder)
            answer = load(folder)
            if sample.kind == "none":
                if answer["error"]:
                    raise SystemExit(f"{sample.base}: the engine does not load the base: {answer['error']}")
                bases[sample.base] |= {key: answer[key] for key in ("reads", "replaced", "padded")}
            row = {"base": sample.base, "kind": sample.kind, "args": sample.args, "words": sample.words}
            rows.append(row | {"engine": _compact(answer, bases[sample.base])})
    versions = {module.__name__: module.__version__ for module in (torch, transformers, safetensors)}
    return {"engine": "sglang 0.5.14", "with": versions, "seed": SEED, "bases": bases, "samples": rows}


def _compact(answer: Json, base: Json) -> Json:
    if answer["error"]:
        return {"error": answer["error"]}
    taken = answer["replaced"]
    states = {
        state: [
            name for name in answer["parameters"] if answer["parameters"][name] == state and name not in taken
        ]
        for state in ("untouched", "partly")
    }
    reads = {
        key: answer["reads"].get(key)
        for key in sorted({*answer["reads"], *base["reads"]})
        if answer["reads"].get(key) != base["reads"].get(key)
    }
    lists = {key: answer[key] for key in ("ignored", "overwritten", "cut", "warnings")}
    padded = {name: count for name, count in answer["padded"].items() if base["padded"].get(name) != count}
    lists |= {"padded": padded, "replaced": [] if taken == base["replaced"] else taken, "reads": reads}
    return {key: value for key, value in {**states, **lists}.items() if value}


def compact_lines(stated: Json) -> str:
    """The record with one base or sample a line, so that a change of one is a change of one line."""
    head = json.dumps({key: stated[key] for key in ("engine", "with", "seed")})[1:-1]
    bases = ",\n".join(f"{json.dumps(name)}: {json.dumps(base)}" for name, base in stated["bases"].items())
    rows = ",\n".join(json.dumps(row) for row in stated["samples"])
    return f'{{{head},\n"bases": {{\n{bases}\n}},\n"samples": [\n{rows}\n]}}\n'


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give the file to write")
    Path(sys.argv[1]).write_text(compact_lines(record()), encoding="utf-8")
