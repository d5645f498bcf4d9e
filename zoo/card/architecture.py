"""The architecture of a draft as rows of a table, computed from the config that the recipe states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from zoo.card.claims import value_text
from zoo.card.markdown import Markdown, code, inline
from zoo.checkpoint.maps import is_map
from zoo.drafts.parts import LATENT_KEYS
from zoo.engines.hazards import amplitudes
from zoo.engines.readings.words import joined
from zoo.recipe.config import inventory_of, proposals
from zoo.recipe.model import UNKNOWN, ModelRef, Recipe

SHORT_DTYPE = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
ALGORITHMS = {
    "dflash": "DFlash: block diffusion, all positions of a block in one forward pass",
    "dflash2": "DFlash2: block diffusion with grouped convolutions and a candidate selector",
    "domino": "Domino: block diffusion, corrected by a recurrent head over the drafted prefix",
    "dspark": "DSpark: block diffusion with a Markov head, and a confidence head where there is one",
    "eagle3": "EAGLE3: autoregressive, one token per forward pass of the draft",
    "peagle": "P-EAGLE: EAGLE3 that drafts several tokens in one forward pass",
}
CONVENTIONS = {
    "after-layer": "id k is the output of layer k",
    "before-layer": "id k is the input of layer k",
    UNKNOWN: "convention unknown",
}
UNKNOWN_WORD = Markdown("*unknown*")
_TENSORS = {"embed_tokens": "`embed_tokens`", "lm_head": "`lm_head`"}


@dataclass(frozen=True, slots=True)
class Size:
    """What the inventory adds up to: ``nbytes`` of tensor data, without the header. Vocabulary maps are
    tensors and no parameters."""

    tensors: int
    parameters: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. ``assumed``: the recipe took the value from elsewhere."""

    name: str
    value: str
    assumed: bool = False


def size_of(recipe: Recipe) -> Size:
    specs = inventory_of(recipe)
    parameters = sum(spec.elements for name, spec in specs.items() if not is_map(name))
    return Size(len(specs), parameters, sum(spec.nbytes for spec in specs.values()))


def size_text(size: Size) -> str:
    """``~7.0 GB (6,958,554,112 bytes)``, in decimal units as the Hub shows them."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size.nbytes >= scale:
            return f"~{size.nbytes / scale:.1f} {unit} ({size.nbytes:,} bytes)"
    return f"{size.nbytes} bytes"


def summary(recipe: Recipe) -> str:
    """The architecture in a few words: ``6 layers, hidden 7168, YaRN rope``."""
    rope = {"yarn": "YaRN rope", "default": "plain rope"}.get(
        recipe.draft.rope["type"], f"{recipe.draft.rope['type']} rope"
    )
    return f"{_count(recipe.draft.layers, 'layer')}, hidden {recipe.draft.config['hidden_size']}, {rope}"


def borrowed(recipe: Recipe) -> Markdown:
    """``embed_tokens`` and ``lm_head``, as far as the engine takes them from the target."""
    return Markdown(" and ".join(_TENSORS[name] for name in sorted(recipe.draft.borrows)))


def reference(model: ModelRef, stated_revision: str) -> Markdown:
    """A model with its revision, as the recipe states it: a tag or branch is a revision, but pins nothing."""
    name = _linked(model.path)
    if stated_revision == UNKNOWN and model.path.startswith("./"):
        return name  # a folder of the zoo is versioned with it
    if stated_revision == UNKNOWN:
        return Markdown(f"{name}, revision {UNKNOWN_WORD}")
    return Markdown(f"{name}, revision {code(stated_revision)}" + ("" if model.revision else " (not pinned)"))


def rows(recipe: Recipe) -> Iterator[Row]:
    """The table, from what the draft belongs to down to its bytes."""
    draft, config, target = recipe.draft, recipe.draft.config, recipe.target
    size = size_of(recipe)
    yield Row("Target", reference(target.repo, target.data["revision"]))
    if "served_as" in target.data:
        kind = f" ({inline(target.quantization)})" if target.quantization else ""
        served = reference(target.served, target.data["served_as"]["revision"])
        yield Row("Served as", Markdown(f"{served}{kind}"))
    yield Row("Algorithm", ALGORITHMS[recipe.checkpoint.family])
    proposed = proposals(recipe)
    if proposed is not None:
        yield Row("Block size", f"{draft.block_size} ({_count(proposed, 'proposal')} per verify step)")
    yield Row("Layers", str(draft.layers))
    yield Row("Hidden size", str(config["hidden_size"]), _is_assumed(recipe, "/config/hidden_size"))
    yield _attention(recipe)
    yield Row(
        "Intermediate size",
        str(config["intermediate_size"]),
        _is_assumed(recipe, "/config/intermediate_size"),
    )
    yield Row("Vocabulary", str(config["vocab_size"]), _is_assumed(recipe, "/config/vocab_size"))
    if config.get("draft_vocab_size") is not None:
        reduced = f"{config['draft_vocab_size']} of {config['vocab_size']} tokens"
        yield Row("Draft vocabulary", reduced, _is_assumed(recipe, "/config/draft_vocab_size"))
    ids = ", ".join(map(str, draft.aux_ids))
    stated = (
        f"{ids} of {target.layers}: {len(draft.aux_ids)} x {target.hidden_size:,} hidden "
        f"({CONVENTIONS[draft.aux_convention]})"
    )
    layers = stated if ids else Markdown(f"{UNKNOWN_WORD}: left to the engine")
    yield Row("Aux layers", layers, _is_assumed(recipe, "/aux_layers/ids"))
    if draft.mask_token_id is not None:
        text = f" {code(draft.mask_token)}" if draft.mask_token else ""
        yield Row("Mask token", Markdown(f"{draft.mask_token_id}{text}"), _is_assumed(recipe, "/mask_token"))
    yield from _rope(recipe)
    for key, name in (("rms_norm_eps", "RMS norm eps"), ("max_position_embeddings", "Max positions")):
        if config.get(key) is not None:
            yield Row(name, value_text(config[key]), _is_assumed(recipe, f"/config/{key}"))
    if draft.borrows:
        yield Row("Borrowed from the target", Markdown(f"{borrowed(recipe)}, at serving time"))
    yield Row(
        "Weights",
        f"{_count(size.tensors, 'tensor')}, {SHORT_DTYPE[recipe.checkpoint.dtype]}, "
        f"{size.parameters:,} parameters, {size_text(size)}",
    )


def _attention(recipe: Recipe) -> Row:
    """Heads and their size; with latent attention (MLA) the ranks and sizes that take the place of those."""
    config = recipe.draft.config
    heads = _count(config["num_attention_heads"], "head")
    if config.get("kv_lora_rank") is not None:
        stated = [key for key in LATENT_KEYS if key in config]
        parts = [f"{key} {'none' if config[key] is None else config[key]}" for key in stated]
        assumed = any(_is_assumed(recipe, f"/config/{key}") for key in stated)
        return Row("Attention", f"{heads}, latent (MLA): {', '.join(parts)}", assumed)
    size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    text = f"{heads}, {config['num_key_value_heads']} KV heads, head_dim {size}"
    return Row("Attention", text, _is_assumed(recipe, "/config/head_dim"))


def _rope(recipe: Recipe) -> Iterator[Row]:
    rope = recipe.draft.rope
    assumed = _is_assumed(recipe, "/rope")
    parts = {key: value for key, value in rope.items() if key not in ("type", "theta")}
    # The two betas are one fact, and the scales are printed as the floats that they are (1.0).
    parts["beta"] = "/".join(value_text(parts.pop(key)) for key in ("beta_fast", "beta_slow") if key in parts)
    parts["original positions"] = parts.pop("original_max_position_embeddings", "")
    scaling = [f"{key} {value}" for key, value in parts.items() if value != ""]
    kind = "" if rope["type"] == "default" else f"; {rope['type']} {', '.join(scaling)}"
    yield Row("Rope", f"theta {value_text(rope['theta'])}{kind}", assumed)
    if rope["type"] != "yarn":
        return
    readings: dict[float, list[str]] = {}
    for reader, amplitude in amplitudes(recipe).items():
        readings.setdefault(float(round(amplitude, 4)), []).append(reader)
    shown = "; ".join(f"{amplitude} in {joined(who)}" for amplitude, who in readings.items())
    trained = recipe.draft.amplitude_as_trained
    known = UNKNOWN_WORD if trained in (None, UNKNOWN) else inline(value_text(float(trained or 0)))
    yield Row("Rope amplitude", Markdown(f"as trained: {known}; as read: {inline(shown)}"))


def _is_assumed(recipe: Recipe, pointer: str) -> bool:
    """Whether the recipe lists ``pointer``, or something that holds it, under draft.assumed."""
    return any(pointer == each or pointer.startswith(f"{each}/") for each in recipe.draft.assumed)


def _linked(path: str) -> Markdown:
    """A repository id as a link to the Hub; a folder of the zoo as a code span."""
    if path.startswith((".", "/")):
        return code(path)
    return Markdown(f"[{inline(path)}](https://huggingface.co/{path})")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
