"""A tiny draft of every family, complete and without a finding: config, tensors, folder and recipe.

The one place where tests that go over all families take their drafts from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.corpus.kit import Tensor, bf16, save
from tests.public_configs import DFLASH2, DOMINO, DSPARK, diffusion, eagle
from zoo.checkpoint.folder import open_checkpoint
from zoo.drafts import Inventory
from zoo.drafts.family import FAMILIES, Family, family_of
from zoo.recipe.adopt import adopt, as_yaml, profile_for
from zoo.starter import starter

Config = dict[str, Any]
_DIMENSIONS = (64, 96, 4, 2, 16, 256, 512, 1e-6, 10000.0)
_BLOCK: dict[str, Any] = {"layers": 2, "block": 8, "ids": [0, 1, 2], "mask": 4, "depth": 4}
_SMALL_SELECTOR = {"conv_group_size": 8, "selector_rank": 4, "selector_top_k": 4}
_IDS = {"eagle_aux_hidden_state_layer_ids": [0, 1, 2]}

CONFIGS: Mapping[str, Config] = dict(
    (
        diffusion("dflash", *_DIMENSIONS, **_BLOCK),
        diffusion("dflash2", *_DIMENSIONS, **_BLOCK, head=DFLASH2 | _SMALL_SELECTOR),
        diffusion("domino", *_DIMENSIONS, **_BLOCK, head=DOMINO | {"emb_dim": 6, "gru_hidden_dim": 10}),
        diffusion("dspark", *_DIMENSIONS, **_BLOCK, head=DSPARK | {"markov_rank": 5}),
        eagle("eagle3", *_DIMENSIONS, draft_vocab_size=128, eagle_config=_IDS),
        eagle(
            "peagle",
            *_DIMENSIONS,
            draft_vocab_size=128,
            architecture="PEagleDraftModel",
            num_hidden_layers=2,
            eagle_config=_IDS,
        ),
    )
)


def family_named(name: str) -> Family:
    return next(family for family in FAMILIES if family.name == name)


def inventory(name: str, config: Config | None = None) -> Inventory:
    """The tensors of the tiny draft of family ``name``, or of another config of that family."""
    return family_named(name).inventory(config or CONFIGS[name], "bfloat16")


def tensors(specs: Inventory, seed: int = 0) -> dict[str, Tensor]:
    """``specs`` with data: normals of std 0.02, norms near 1, and maps that fit together (the draft's tokens
    are the target's first and its last)."""
    random = np.random.default_rng(seed)
    found: dict[str, Tensor] = {}
    for name, spec in specs.items():
        if name == "d2t":
            data = (np.flatnonzero(_kept(specs)) - np.arange(spec.shape[0])).astype("<i8").tobytes()
        elif name == "t2d":
            data = _kept(specs).tobytes()
        else:
            mean = 1.0 if len(spec.shape) == 1 else 0.0
            data = bf16(random.normal(mean, 0.02, spec.shape))
        found[name] = (spec.dtype, spec.shape, data)
    return found


def _kept(specs: Inventory) -> np.ndarray[Any, Any]:
    """t2d: the first and the last of the target's 256 tokens, half of the draft's each."""
    kept = np.ones(256, dtype="u1")
    size = specs["d2t"].shape[0] if "d2t" in specs else 128
    kept[size // 2 : 256 - (size - size // 2)] = 0
    return kept


def write_draft(folder: Path, config: Config, held: Mapping[str, Tensor]) -> None:
    """``config.json`` and ``model.safetensors``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    save(folder / "model.safetensors", held, {"format": "pt"})


def write_tiny(folder: Path, name: str) -> None:
    """The tiny draft of family ``name``."""
    write_draft(folder, CONFIGS[name], tensors(inventory(name)))


def recipe_of(folder: Path, zoo: Path, name: str) -> None:
    """Write the recipe ``name`` of the draft in ``folder`` into the zoo at ``zoo``, as ``zoo adopt`` and a
    person who fills in what is TODO would."""
    checkpoint = open_checkpoint(folder, str(folder))
    family = family_of(checkpoint.config or {})
    assert family is not None
    recipe, target = adopt(checkpoint, family, name, f"{name}-target", f"{name}-profile")
    said: dict[str, Any] = {"repo": f"example/{name}", "title": name, "summary": f"The draft {name}."}
    recipe |= {key: said[key] for key in said}
    recipe["training"] |= {"run": name, "export_of": {"checkpoint": "iter_0000002", "step": 1}}
    recipe["draft"]["aux_layers"]["convention"] = "after-layer"
    ids = recipe["draft"]["aux_layers"]["ids"]
    deep = 4 if ids == "unknown" else max(ids) + 2
    target |= {"repo": "example/target", "layers": deep if target["layers"] == "TODO" else target["layers"]}
    profile = starter("sglang-0.5.14-example.yaml").replace("sglang-0.5.14-example", f"{name}-profile")
    profile = profile_for(profile, family.name, recipe["draft"].get("block_size"))
    profile = profile.replace("gpu: TODO", "gpu: H200")
    for part, text in {
        f"{name}.yaml": as_yaml(recipe, "recipe-1", "schema.json"),
        f"targets/{name}-target.yaml": as_yaml(target, "target-1", "schema.json"),
        f"profiles/{name}-profile.yaml": profile,
    }.items():
        path = zoo / "recipes" / part
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if not (zoo / "zoo.toml").exists():
        (zoo / "zoo.toml").write_text(starter("zoo.toml"))
