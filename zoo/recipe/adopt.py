"""A recipe from an existing checkpoint: everything that its files say, and TODO for what only a person can.

The inverse of ``zoo.recipe.config.config_of``: a recipe adopted from a config describes that config.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from zoo.checkpoint.index import INDEX_NAME
from zoo.checkpoint.model import Checkpoint
from zoo.drafts import HEADER_DTYPE
from zoo.drafts.dflash import PLACES, read_config
from zoo.errors import UsageError
from zoo.printable import printable, quoted
from zoo.recipe import yamltree
from zoo.recipe.validate import plain
from zoo.schemas import schema

TODO = "TODO"
_TOKENIZER = "tokenizer.json tokenizer_config.json special_tokens_map.json vocab.json merges.txt".split()
# Without these a recipe of a DFlash draft cannot be written (zoo/schemas/recipe-1.json).
_NEEDED = (
    "num_hidden_layers block_size target_layer_ids mask_token_id rope.theta hidden_size vocab_size "
    "intermediate_size num_attention_heads num_key_value_heads head_dim hidden_act rms_norm_eps model_type "
    "max_position_embeddings"
).split()
# Stated elsewhere in a recipe, or read by no engine and different in every export.
_NOT_CONFIG = frozenset(
    (
        "auto_map dtype torch_dtype dflash_config rope_scaling rope_parameters rope_theta num_hidden_layers "
        "transformers_version _name_or_path"
    ).split()
)


def adopt(
    checkpoint: Checkpoint, name: str, target: str, profile: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The recipe ``name`` of a DFlash ``checkpoint`` and the file of its ``target``, as plain documents.

    Raises:
        UsageError: there are no weights, or the config does not state what a recipe of a DFlash draft needs.
    """
    if not checkpoint.tensors:
        raise UsageError(
            f"{quoted(checkpoint.source)} has no weights that can be read",
            hint=f"see what is wrong: zoo verify {shlex.quote(printable(checkpoint.source, keep=''))}",
        )
    config = checkpoint.config or {}
    stated = {key: places[0].value for key, places in read_config(config).items()}
    missing = [key for key in _NEEDED if key not in stated]
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
        "checkpoint": _checkpoint(checkpoint),
        "draft": _draft(config, stated),
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
        "hidden_size": stated["hidden_size"],
        "vocab_size": stated["vocab_size"],
    }
    return recipe, described


def unstated(config: Mapping[str, Any]) -> list[str]:
    """Rope keys of the config that a recipe cannot state; verify will report them."""
    known = {place for key, places in PLACES.items() if key.startswith("rope.") for place in places}
    simple = read_config(config)["rope.type"][0].value == "default"
    return [
        f"{block}.{key}"
        for block in ("rope_parameters", "rope_scaling")
        if isinstance(inner := config.get(block), Mapping)
        for key in inner
        if (block, key) not in known or (simple and key not in ("rope_type", "type", "rope_theta"))
    ]


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


def _checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    spelled = {header: name for name, header in HEADER_DTYPE.items()}
    held = [tensor.dtype for tensor in checkpoint.tensors.values() if tensor.dtype in spelled]
    return {
        "source": "unknown",
        "family": "dflash",
        "tensors": len(checkpoint.tensors),
        "dtype": spelled[max(sorted(set(held)), key=held.count, default="BF16")],
        "files": {name: kind for name in checkpoint.files if (kind := _kind(name)) is not None},
    }


def _kind(name: str) -> str | None:
    """What a file of the folder is declared as; None for what a release leaves out."""
    if name.endswith(".safetensors"):
        return "weights"
    if not re.fullmatch(schema("recipe-1")["$defs"]["file"]["pattern"], name):
        return None
    known = {"config.json": "config", INDEX_NAME: "index", **dict.fromkeys(_TOKENIZER, "tokenizer")}
    return known.get(name) or ("document" if name.endswith((".pdf", ".txt")) else None)


def _draft(config: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    rope = {
        key.removeprefix("rope."): stated[key] for key in PLACES if key.startswith("rope.") and key in stated
    }
    mask = {"id": stated["mask_token_id"]}
    nested = config.get("dflash_config")
    inner = dict(nested) if isinstance(nested, Mapping) else {}
    if isinstance(inner.get("mask_token"), str):
        mask["text"] = inner["mask_token"]
    rest = {
        key: value
        for key, value in config.items()
        if value is not None and key not in _NOT_CONFIG and key not in PLACES
    }
    more = {key: value for key, value in inner.items() if key not in PLACES and key != "mask_token"}
    return {
        "layers": stated["num_hidden_layers"],
        "block_size": stated["block_size"],
        "aux_layers": {"ids": stated["target_layer_ids"], "convention": "unknown"},
        "mask_token": mask,
        "rope": {
            "type": rope.pop("type"),
            "theta": rope.pop("theta"),
            **rope,
            "amplitude_as_trained": "unknown",
        },
        "borrows": {"embed_tokens": "target", "lm_head": "target"},
        "config": rest | ({"dflash_config": more} if more else {}),
    }
