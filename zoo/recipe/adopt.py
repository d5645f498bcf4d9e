"""A recipe from an existing checkpoint: everything that its files say, and TODO for what only a person can.

The inverse of ``zoo.recipe.config.config_of``: a recipe adopted from a config describes that config.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from zoo.checkpoint.index import INDEX_NAME
from zoo.checkpoint.model import Checkpoint
from zoo.drafts import HEADER_DTYPE, Inventory
from zoo.drafts.family import Family, NotInventoriedError
from zoo.drafts.keys import DIFFUSION, ROPE_BLOCKS, Keys, keys_of
from zoo.drafts.layouts import native
from zoo.errors import UsageError
from zoo.printable import printable, quoted
from zoo.recipe import yamltree
from zoo.recipe.model import UNKNOWN
from zoo.recipe.validate import plain
from zoo.schemas import schema

TODO = "TODO"
_TOKENIZER = "tokenizer.json tokenizer_config.json special_tokens_map.json vocab.json merges.txt".split()
# Without these a recipe cannot be written (zoo/schemas/recipe-1.json).
_NEEDED = (
    "num_hidden_layers rope.theta hidden_size vocab_size intermediate_size num_attention_heads "
    "num_key_value_heads hidden_act rms_norm_eps model_type max_position_embeddings"
).split()
_NEEDED_OF_A_BLOCK = ("block_size", "target_layer_ids", "mask_token_id")
# Stated elsewhere in a recipe, or read by no engine and different in every export.
_NOT_CONFIG = frozenset(
    (
        "auto_map dtype torch_dtype dflash_config eagle_config rope_scaling rope_parameters rope_theta "
        "num_hidden_layers transformers_version _name_or_path eagle_aux_hidden_state_layer_ids"
    ).split()
)
# Null makes SGLang take the target's head; without the key it stops (models/llama_eagle3.py).
_NULL_IS_A_VALUE = ("draft_vocab_size",)
# No engine that was read starts a P-EAGLE draft in the flat layout (docs/engines.md).
_PEAGLE_ARGUMENTS = """\
# No engine that was read loads a flat P-EAGLE draft, and verify says so (E022). vLLM 0.33.0 serves the nested
# layout of speculators, with this command.
engine: vllm==0.33.0
hardware: {gpu: TODO, count: 1}
command: vllm serve
args:
  - --model {target}
  - >-
    --speculative-config '{"method": "eagle3", "model": "{draft}", "num_speculative_tokens": 4}'
"""


def adopt(
    checkpoint: Checkpoint,
    family: Family,
    name: str,
    target: str,
    profile: str,
    source: str = UNKNOWN,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The recipe ``name`` of a ``checkpoint`` of ``family`` and the file of its ``target``, as documents.
    ``source`` is where the recipe finds the checkpoint.

    Raises:
        UsageError: there are no weights, or the config does not state what a recipe of the family needs, or
            is in a layout that no recipe can state.
    """
    if not checkpoint.tensors:
        raise UsageError(
            f"{quoted(checkpoint.source)} has no weights that can be read",
            hint=f"see what is wrong: zoo verify {shlex.quote(printable(checkpoint.source, keep=''))}",
        )
    config = checkpoint.config or {}
    keys, layout = keys_of(family.name), native(config).name
    if layout != "flat":
        raise UsageError(
            f"{quoted(checkpoint.source)} has the nested config of {layout}, which recipes do not cover yet",
            hint=f"audit it without one: zoo verify {shlex.quote(printable(checkpoint.source, keep=''))}",
        )
    if keys is None:
        raise UsageError(
            f"{quoted(checkpoint.source)} is a draft of the {family.title} family",
            hint="this version has no recipes for that family; zoo verify FOLDER says what it can",
        )
    stated = {key: places[0].value for key, places in keys.stated(config).items()}
    needed = [*_NEEDED, *(_NEEDED_OF_A_BLOCK if keys is DIFFUSION else ())]
    missing = [key for key in needed if key not in stated]
    if missing:
        raise UsageError(
            f"the config.json of {quoted(checkpoint.source)} does not state {', '.join(missing)}",
            hint=f"see what it lacks: zoo verify {shlex.quote(printable(checkpoint.source, keep=''))}",
        )
    recipe = {
        "recipe": 1,
        "name": name,
        "version": "0.1.0",
        "repo": TODO,
        "title": TODO,
        "summary": TODO,
        "license": "unknown",
        "target": target,
        "checkpoint": _checkpoint(checkpoint, source, family, config),
        "draft": _draft(checkpoint, keys, config, stated),
        "training": {
            "run": TODO,
            "export_of": {"checkpoint": TODO, "step": "unknown"},
            "manifest": "unknown",
            "hidden_states_from": "unknown",
        },
        "serve": [profile],
    }
    described = {
        "target": 1,
        "name": target,
        "repo": TODO,
        "revision": "unknown",
        "layers": stated.get("num_target_layers", TODO),
        "hidden_size": stated.get("target_hidden_size", stated["hidden_size"]),
        "vocab_size": stated["vocab_size"],
    }
    return recipe, described


def unstated(family: Family, config: Mapping[str, Any]) -> list[str]:
    """Rope keys of the config that a recipe cannot state; verify will report them."""
    keys = keys_of(family.name) or DIFFUSION
    known = {place for key, places in keys.places.items() if key.startswith("rope.") for place in places}
    simple = keys.stated(config)["rope.type"][0].value == "default"
    return [
        f"{block}.{key}"
        for block in ROPE_BLOCKS
        if isinstance(inner := config.get(block), Mapping)
        for key in inner
        if (block, key) not in known
        or (simple and key not in ("rope_type", "type", "rope_theta", "mrope_section"))
    ]


def source_of(checkpoint: Checkpoint, zoo: Path) -> str:
    """Where a recipe of the zoo finds the checkpoint: its address, or its folder inside the zoo. A folder
    elsewhere is on this machine alone, so it is unknown."""
    if checkpoint.source.startswith(("hf://", "https://")):
        return checkpoint.source
    folder, root = checkpoint.root.resolve(), zoo.resolve()
    inside = folder != root and folder.is_relative_to(root)
    return f"./{folder.relative_to(root).as_posix()}" if inside else UNKNOWN


def profile_for(profile: str, family: str, block: int | None) -> str:
    """The starter's profile, of a DFlash draft on SGLang 0.5.14, for another family and block size. Of the
    hardware the files say nothing: the GPU is TODO."""
    profile = profile.replace("gpu: H200", f"gpu: {TODO}")
    if family == "peagle":
        return profile.partition("engine:")[0] + _PEAGLE_ARGUMENTS
    speculate = {
        "dspark": ["--speculative-algorithm DSPARK"],
        "eagle3": [
            "--speculative-algorithm EAGLE3",
            "--speculative-num-steps 3",
            "--speculative-eagle-topk 1",
            "--speculative-num-draft-tokens 4",
        ],
    }.get(family, ["--speculative-algorithm DFLASH", f"--speculative-dflash-block-size {block}"])
    lines = profile.replace("  - --speculative-dflash-block-size 8\n", "")
    lines = lines.replace(
        "  - --speculative-algorithm DFLASH\n", "".join(f"  - {each}\n" for each in speculate)
    )
    if family in ("dflash2", "domino", "dspark"):  # SGLang 0.5.14 knows none of these
        lines = lines.replace("0.5.14", "0.5.23")
    return lines


def as_yaml(document: Mapping[str, Any], schema_name: str, address: str) -> str:
    """The document as YAML, with the schema's address in its first line for editors.

    Raises:
        UsageError: it holds something that does not survive being written and read by the strict reader.
    """
    writer = YAML()
    writer.width = 110
    writer.default_flow_style = None
    text = StringIO()
    whole = CommentedMap(document)
    whole.fa.set_block_style()
    writer.dump(whole, text)
    written = f"# yaml-language-server: $schema={address}\n{text.getvalue()}"
    tree, findings = yamltree.parse(written.encode(), "recipe")
    if tree is None or findings or plain(tree, schema(schema_name))[0] != document:
        raise UsageError(
            "the config holds a key or text that a recipe cannot hold",
            hint="remove odd keys, control characters and very long values from config.json",
        )
    return written


def _checkpoint(
    checkpoint: Checkpoint, source: str, family: Family, config: Mapping[str, Any]
) -> dict[str, Any]:
    spelled = {header: name for name, header in HEADER_DTYPE.items()}
    held = [tensor.dtype for tensor in checkpoint.tensors.values() if tensor.dtype in spelled]
    dtype = spelled[max(sorted(set(held)), key=held.count, default="BF16")]
    optional = [name for name in _optional(family, config, dtype) if name in checkpoint.tensors]
    return {
        "source": source,
        "family": family.name,
        "tensors": len(checkpoint.tensors),
        **({"optional": optional} if optional else {}),
        "dtype": dtype,
        "files": {name: kind for name in checkpoint.files if (kind := _kind(name)) is not None},
    }


def _optional(family: Family, config: Mapping[str, Any], dtype: str) -> Inventory:
    try:
        return family.optional(config, dtype)
    except (KeyError, TypeError, ZeroDivisionError, NotInventoriedError):
        return {}  # verify says what is wrong


def _kind(name: str) -> str | None:
    """What a file of the folder is declared as; None for what a release leaves out."""
    if name.endswith(".safetensors"):
        return "weights"
    if not re.fullmatch(schema("recipe-1")["$defs"]["file"]["pattern"], name):
        return None
    known = {"config.json": "config", INDEX_NAME: "index", **dict.fromkeys(_TOKENIZER, "tokenizer")}
    return known.get(name) or ("document" if name.endswith((".pdf", ".txt")) else None)


def _draft(
    checkpoint: Checkpoint, keys: Keys, config: Mapping[str, Any], stated: Mapping[str, Any]
) -> dict[str, Any]:
    rope = {
        key.removeprefix("rope."): stated[key]
        for key in keys.places
        if key.startswith("rope.") and key in stated
    }
    nested = config.get(keys.own)
    inner = dict(nested) if isinstance(nested, Mapping) else {}
    mask = {}
    if "mask_token_id" in keys.places:
        mask = {"id": stated["mask_token_id"]}
        if isinstance(inner.get("mask_token"), str):
            mask["text"] = inner["mask_token"]
    elsewhere = {place[-1] for places in keys.places.values() for place in places}
    rest = {
        key: value
        for key, value in config.items()
        if (value is not None or key in _NULL_IS_A_VALUE) and key not in _NOT_CONFIG and key not in elsewhere
    }
    more = {key: value for key, value in inner.items() if key not in {*elsewhere, "mask_token"}}
    borrowed = [name for name in ("embed_tokens", "lm_head") if f"{name}.weight" not in checkpoint.tensors]
    return {
        "layers": stated["num_hidden_layers"],
        **({"block_size": stated["block_size"]} if "block_size" in keys.places else {}),
        "aux_layers": {"ids": stated.get("target_layer_ids", "unknown"), "convention": "unknown"},
        **({"mask_token": mask} if mask else {}),
        "rope": {
            "type": rope.pop("type"),
            "theta": rope.pop("theta"),
            **rope,
            "amplitude_as_trained": "unknown",
        },
        "borrows": dict.fromkeys(borrowed, "target"),
        "config": rest | ({keys.own: more} if more else {}),
    }
