"""Mutations of a draft: what a mistake, a script or another framework does to one tensor or one config key.

Pure: :func:`mutations` gives the same ones for the same draft, seed and count. Each is a whole draft again,
so that nobody has to apply anything. Kinds of tensors: drop, rename, prefix, swap, reshape, recast,
duplicate, move. Kinds of config keys: remove, number, switch, text, list, block, null, misspell, place,
twice, add, dtype. And order, of both.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.mutations.drafts import DTYPES, Draft, Table, Variant
from tests.mutations.keys import ADDED, ADDED_TO, UNREAD

Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of one draft, in words, and the draft as it is then."""

    kind: str
    words: str
    draft: Draft


def mutations(variant: Variant, seed: int, count: int | None = None) -> list[Mutation]:
    """All mutations of the variant or ``count`` of them, the kinds in turn, so that each has its share."""
    queues = []
    for kind, make in KINDS.items():
        choice = random.Random(f"{seed} {variant.name} {kind}")
        made = [Mutation(kind, words, draft) for words, draft in make(variant, choice)]
        choice.shuffle(made)
        queues.append(made)
    chosen: list[Mutation] = []
    while any(queues) and (count is None or len(chosen) < count):
        chosen += [queue.pop() for queue in queues if queue]
    return chosen[:count]


Options = Iterator[tuple[str, Draft]]


def _drop(variant: Variant, choice: random.Random) -> Options:
    for name in variant.draft.tensors:
        yield f"{name} is dropped", _without(variant.draft, name)


_FOREIGN = {
    "midlayer.": ("layers.0.", "layer.", "model.layers.0."),
    "layers.0.": ("midlayer.", "layers.00.", "h.0."),
    "layers.1.": ("layers.2.", "layers.0.", "layers.01.", "h.1."),
    "self_attn.q_proj": ("self_attn.q", "attention.wq", "self_attn.qkv_proj", "attn.q_proj"),
    "self_attn.k_proj": ("self_attn.v_proj", "attention.wk", "self_attn.k"),
    "self_attn.o_proj": ("self_attn.out_proj", "self_attn.dense", "attention.wo"),
    "mlp.gate_proj": ("mlp.gate_up_proj", "feed_forward.w1", "mlp.w1", "mlp.up_proj"),
    "mlp.down_proj": ("feed_forward.w2", "mlp.c_proj"),
    "input_layernorm": ("attention_norm", "input_norm", "post_attention_layernorm"),
    "post_attention_layernorm": ("ffn_norm", "pre_feedforward_layernorm"),
    "hidden_norm": ("context_norm", "hidden_layernorm", "encoder.output_norm_enc"),
    "fc.weight": ("context_proj.weight", "encoder.fc.weight", "fc.0.weight", "eh_proj.weight"),
    "norm.weight": ("final_layernorm.weight", "norm.bias", "ln_f.weight"),
    "markov_head.markov_w1": ("markov_w1", "markov_head.w1", "markov_head.markov_w2"),
    "confidence_head.proj": ("confidence_proj", "confidence_head"),
    "prefix_gru.weight_ih_l0": ("prefix_gru.weight_ih", "gru.weight_ih_l0"),
    "embed_proj.0": ("embed_proj.1", "embed_proj"),
    "candidate_selector.": ("selector.", "candidate_selector.module."),
    "attention_conv.base_kernel": ("attention_conv.kernel", "conv.base_kernel"),
    "lm_head": ("draft_lm_head", "output", "embed_tokens"),
    "d2t": ("draft_id_to_target_id", "t2d", "d2t.weight"),
    "t2d": ("target_id_to_draft_id", "t2d.weight"),
    "mask_hidden": ("mask_hidden.weight", "mask_embedding"),
}
_PREFIXES = ("model.", "module.", "draft_model.", "_orig_mod.", "base_model.model.", "x7.")
_ENDINGS = ("_packed", ".weight", "_scale", ".data", " ")


def _rename(variant: Variant, choice: random.Random) -> Options:
    for name in variant.draft.tensors:
        words = [prefix + name for prefix in _PREFIXES]
        words += [name + ending for ending in _ENDINGS]
        words += [name.upper(), name.replace(".", "_"), name.removesuffix(".weight"), _misspelt(name, choice)]
        for known, others in _FOREIGN.items():
            words += [name.replace(known, other) for other in others if known in name]
        for new in dict.fromkeys(words):
            if new not in variant.draft.tensors:
                yield f"{name} is called {new!r}", _renamed(variant.draft, {name: new})


def _prefix(variant: Variant, choice: random.Random) -> Options:
    names = list(variant.draft.tensors)
    for prefix in _PREFIXES:
        yield f"every name has the prefix {prefix}", _renamed(variant.draft, {n: prefix + n for n in names})
        layer = [name for name in names if name.startswith(("layers.0.", "midlayer."))]
        yield (
            f"every name of the first layer has the prefix {prefix}",
            _renamed(variant.draft, {name: prefix + name for name in layer}),
        )
    for old, new in (("midlayer.", "layers.0."), ("layers.0.", "midlayer."), ("layers.1.", "layers.2.")):
        found = {name: name.replace(old, new) for name in names if name.startswith(old)}
        if found and not set(found.values()) & set(names):
            yield f"every {old} is {new}", _renamed(variant.draft, found)
    deeper = {
        name: name.replace("layers.1.", "layers.2.").replace("layers.0.", "layers.1.") for name in names
    }
    if deeper != {name: name for name in names}:
        yield "layers are counted from 1", _renamed(variant.draft, deeper)


def _swap(variant: Variant, choice: random.Random) -> Options:
    tensors = variant.draft.tensors
    pairs = [(one, other) for one in tensors for other in tensors if one < other]
    equal = [pair for pair in pairs if tensors[pair[0]] == tensors[pair[1]]]
    unequal = [pair for pair in pairs if tensors[pair[0]] != tensors[pair[1]]]
    for one, other in choice.sample(equal, min(12, len(equal))) + choice.sample(
        unequal, min(60, len(unequal))
    ):
        swapped = {**tensors, one: tensors[other], other: tensors[one]}
        yield f"{one} and {other} are swapped", replace(variant.draft, tensors=swapped)


def _reshape(variant: Variant, choice: random.Random) -> Options:
    for name, (dtype, shape) in variant.draft.tensors.items():
        elements = math.prod(shape)
        shapes = [shape[::-1]] if len(shape) > 1 else []
        for axis, dimension in enumerate(shape):
            sizes = (dimension + 1, dimension - 1, dimension * 2, dimension // 2, 0)
            shapes += [(*shape[:axis], new, *shape[axis + 1 :]) for new in sizes]
        shapes += [(elements,), (*shape, 1), (1, *shape), (), (elements, 1)]
        if shape and shape[0] % 2 == 0:
            shapes.append((2, shape[0] // 2, *shape[1:]))
        for new in dict.fromkeys(shapes):
            # The same dimensions are offered once, as the transposed square that no header can show.
            if new != shape or (len(shape) > 1 and new == shape[::-1]):
                changed = {**variant.draft.tensors, name: (dtype, new)}
                word = "transposed" if new == shape[::-1] and len(shape) > 1 else f"of shape {list(new)}"
                yield f"{name} is {word}", replace(variant.draft, tensors=changed)


def _recast(variant: Variant, choice: random.Random) -> Options:
    for name, (dtype, shape) in variant.draft.tensors.items():
        for new in DTYPES:
            if new != dtype:
                changed = {**variant.draft.tensors, name: (new, shape)}
                yield f"{name} is {new}", replace(variant.draft, tensors=changed)
    for new in ("F16", "F32"):
        cast = {
            name: (new if dtype == "BF16" else dtype, shape)
            for name, (dtype, shape) in variant.draft.tensors.items()
        }
        yield f"every tensor is {new}", replace(variant.draft, tensors=cast)


def _duplicate(variant: Variant, choice: random.Random) -> Options:
    tensors = variant.draft.tensors
    for name, spec in tensors.items():
        copies = [prefix + name for prefix in _PREFIXES[:3]] + [f"{name}.copy", "layers.9." + name]
        copies += ["embed_tokens.weight", "lm_head.weight", "d2t", "rotary_emb.inv_freq"]
        for new in copies:
            if new not in tensors:
                yield f"{name} is also there as {new}", replace(variant.draft, tensors={**tensors, new: spec})
        yield f"{name} is in a second file, too", replace(variant.draft, second={name: spec})


def _move(variant: Variant, choice: random.Random) -> Options:
    for name, spec in variant.draft.tensors.items():
        moved = replace(_without(variant.draft, name), second={name: spec})
        yield f"{name} is in an undeclared file", moved


# Config keys.


def _remove(variant: Variant, choice: random.Random) -> Options:
    for path, _ in _places(variant.draft.config):
        if isinstance(path[-1], str):
            yield f"{_name(path)} is removed", _with(variant.draft, path, _REMOVED)


def _number(variant: Variant, choice: random.Random) -> Options:
    for path, value in _places(variant.draft.config):
        if isinstance(value, int | float) and not isinstance(value, bool):
            others: list[Any] = [value + 1, value - 1, value * 2, value / 2, 0, -value, 10**12, value * 1.001]
            if isinstance(value, int):
                others += [float(value), value // 2]
            elif value == int(value):
                others.append(int(value))
            others += [str(value), [value], {"value": value}, value > 0]
            yield from _changed(variant.draft, path, value, others)


def _switch(variant: Variant, choice: random.Random) -> Options:
    for path, value in _places(variant.draft.config):
        if isinstance(value, bool):
            others: list[Any] = [not value, int(value), int(not value), str(value).lower(), [value], {}]
            yield from _changed(variant.draft, path, value, others)


def _text(variant: Variant, choice: random.Random) -> Options:
    for path, value in _places(variant.draft.config):
        if isinstance(value, str):
            others: list[Any] = [_misspelt(value, choice), value.upper(), value + " ", "", f"x_{value}"]
            others += [[value], 1, True, {"name": value}]
            yield from _changed(variant.draft, path, value, others)


def _list(variant: Variant, choice: random.Random) -> Options:
    for path, value in _places(variant.draft.config):
        if isinstance(value, list):
            others: list[Any] = [
                value[::-1],
                value[1:] + value[:1],
                value[:-1],
                value[1:],
                [],
                {},
                str(value),
            ]
            others += [[*value, value[-1]], [value], value[0], dict(enumerate(map(str, value))), 7, False]
            if all(isinstance(item, int) for item in value):
                others += [
                    [item + 1 for item in value],
                    [item - 1 for item in value],
                    [*value, value[-1] + 1],
                ]
                others += [[*value[:-1], value[-1] + 1], [*value[:-1], value[-2]], list(map(str, value))]
                others.append([float(item) for item in value])
            yield from _changed(variant.draft, path, value, others)


def _block(variant: Variant, choice: random.Random) -> Options:
    for path, value in _places(variant.draft.config):
        if isinstance(value, dict):
            others: list[Any] = [{}, [], [value], "", "default", 1, True, {"config": value}]
            yield from _changed(variant.draft, path, value, others)


def _null(variant: Variant, choice: random.Random) -> Options:
    for path, value in _places(variant.draft.config):
        yield from _changed(variant.draft, path, value, [None])
    for key in (*ADDED[variant.own], *UNREAD):
        if key not in variant.draft.config:
            yield f"{key} is null", _with(variant.draft, (key,), None)


def _misspell(variant: Variant, choice: random.Random) -> Options:
    for path, value in _places(variant.draft.config):
        key = path[-1]
        if isinstance(key, str):
            words = [
                _misspelt(key, choice),
                key[:-1],
                key + "s",
                key + "_",
                key.upper(),
                _camel(key),
                f"draft_{key}",
            ]
            for new in dict.fromkeys(words):
                if new != key:
                    renamed = _with(_with(variant.draft, path, _REMOVED), (*path[:-1], new), value)
                    yield f"{_name(path)} is called {new!r}", renamed


def _moved(variant: Variant) -> Iterator[tuple[Path, Path, Any]]:
    """Each key, and each other object that could hold it."""
    blocks: list[Path] = [(), (variant.own,), ("rope_scaling",), ("rope_parameters",), ("text_config",)]
    for path, value in _places(variant.draft.config):
        if isinstance(path[-1], str) and not isinstance(value, dict):
            for block in blocks:
                if (*block, path[-1]) != path and len(path) <= 2:
                    yield path, (*block, path[-1]), value


def _place(variant: Variant, choice: random.Random) -> Options:
    for path, new, value in _moved(variant):
        moved = _with(_with(variant.draft, path, _REMOVED), new, value)
        yield f"{_name(path)} stands at {_name(new)}", moved
    yield from _respelt_rope(variant)


def _respelt_rope(variant: Variant) -> Options:
    """The same rope in the other layout."""
    config = variant.draft.config
    parameters = dict(config.get("rope_parameters") or {"rope_theta": config.get("rope_theta")})
    parameters |= config.get("rope_scaling") or {}
    layouts = ("rope_theta", "rope_scaling", "rope_parameters")
    bare = {key: value for key, value in config.items() if key not in layouts}
    theta = parameters.pop("rope_theta")
    kind = {"rope_type": parameters.pop("rope_type", "default")}
    rope = {**kind, **parameters}
    old = {**bare, "rope_theta": theta, "rope_scaling": {"type": rope.pop("rope_type"), **parameters}}
    new = {**bare, "rope_parameters": {"rope_theta": theta, **kind, **parameters}}
    for words, changed in (("rope in rope_scaling, type", old), ("rope in rope_parameters", new)):
        yield words, replace(variant.draft, config=changed)
    yield "rope in both", replace(variant.draft, config={**old, **new})
    yield (
        "rope in rope_parameters without theta",
        replace(variant.draft, config={**bare, "rope_parameters": rope}),
    )


def _twice(variant: Variant, choice: random.Random) -> Options:
    for path, new, value in _moved(variant):
        yield f"{_name(path)} stands at {_name(new)}, too", _with(variant.draft, new, value)
        yield f"{_name(path)} stands at {_name(new)}, otherwise", _with(variant.draft, new, _other(value))


def _add(variant: Variant, choice: random.Random) -> Options:
    for block, keys in ADDED_TO[variant.own].items():
        inner = variant.draft.config.get(block, {}) if block else variant.draft.config
        for key, values in keys.items():
            if key not in inner:
                for value in values:
                    path = (block, key) if block else (key,)
                    yield f"{_name(path)} is {value!r}", _with(variant.draft, path, value)
    for key, value in UNREAD.items():
        yield f"{key} is {value!r}", _with(variant.draft, (key,), value)


def _dtype(variant: Variant, choice: random.Random) -> Options:
    bare = {key: value for key, value in variant.draft.config.items() if key != "dtype"}
    names = ("bfloat16", "float16", "float32", "torch.bfloat16", "auto", "half")
    for old in (None, *names):
        for new in (None, *names):
            both = {key: value for key, value in (("dtype", new), ("torch_dtype", old)) if value}
            if both != {"dtype": "bfloat16"}:
                yield f"dtype {new}, torch_dtype {old}", replace(variant.draft, config={**bare, **both})


def _order(variant: Variant, choice: random.Random) -> Options:
    for _ in range(3):
        keys, names = list(variant.draft.config), list(variant.draft.tensors)
        choice.shuffle(keys)
        choice.shuffle(names)
        config = {key: variant.draft.config[key] for key in keys}
        yield "config keys in another order", replace(variant.draft, config=config)
        tensors = {name: variant.draft.tensors[name] for name in names}
        yield "tensors in another order", replace(variant.draft, tensors=tensors)


KINDS: Mapping[str, Callable[[Variant, random.Random], Options]] = {
    "drop": _drop,
    "rename": _rename,
    "prefix": _prefix,
    "swap": _swap,
    "reshape": _reshape,
    "recast": _recast,
    "duplicate": _duplicate,
    "move": _move,
    "remove": _remove,
    "number": _number,
    "switch": _switch,
    "text": _text,
    "list": _list,
    "block": _block,
    "null": _null,
    "misspell": _misspell,
    "place": _place,
    "twice": _twice,
    "add": _add,
    "dtype": _dtype,
    "order": _order,
}
_REMOVED = object()


def _places(config: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of the config and of the objects in it, and its path."""
    for key, value in config.items():
        yield (*path, key), value
        if isinstance(value, dict):
            yield from _places(value, (*path, key))


def _with(draft: Draft, path: Path, value: Any) -> Draft:
    """The draft with another value at ``path`` of its config, or with none."""
    config = copy.deepcopy(draft.config)
    at: Any = config
    for key in path[:-1]:
        at = at.setdefault(key, {})
    if value is _REMOVED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return replace(draft, config=config)


def _changed(draft: Draft, path: Path, value: Any, others: list[Any]) -> Options:
    seen = [_spelled(value)]
    for other in others:
        if _spelled(other) not in seen:
            seen.append(_spelled(other))
            yield f"{_name(path)} is {other!r}, not {value!r}", _with(draft, path, other)


def _spelled(value: Any) -> str:
    return repr(value)


def _other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return (
        [*value[1:], value[0] + 1] if isinstance(value, list) and isinstance(value[0], int) else f"{value}_2"
    )


def _name(path: Path) -> str:
    return ".".join(map(str, path))


def _without(draft: Draft, name: str) -> Draft:
    return replace(draft, tensors={key: spec for key, spec in draft.tensors.items() if key != name})


def _renamed(draft: Draft, names: Mapping[str, str]) -> Draft:
    tensors: Table = {names.get(name, name): spec for name, spec in draft.tensors.items()}
    return replace(draft, tensors=tensors)


def _misspelt(word: str, choice: random.Random) -> str:
    """``word`` with one letter gone, doubled or replaced."""
    at = choice.randrange(len(word))
    return word[:at] + choice.choice(("", word[at] * 2, "q" if word[at] != "q" else "z")) + word[at + 1 :]


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)
