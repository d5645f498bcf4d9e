"""Helpers of the corpus: a complete tiny DFlash draft, and safetensors files with any header at all.

A case is a folder with ``make.py`` (``make(folder)`` writes the checkpoint) and ``expect.json``. Most cases
start from :func:`good_draft` and break one thing.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, INTERMEDIATE, LAYERS = 64, 4, 2, 16, 96, 2
GOOD_ZOO = Path(__file__).parent / "zoo"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"

Tensor = tuple[str, tuple[int, ...], bytes]  # dtype as the format spells it, shape, data


def header_bytes(header: Mapping[str, Any] | str | bytes, *, align: bool = True) -> bytes:
    """The 8 bytes of length and the header itself. A text or bytes are taken as they are; ``align`` pads with
    spaces to a multiple of 8."""
    text = header if isinstance(header, str | bytes) else json.dumps(header, separators=(",", ":"))
    raw = text.encode() if isinstance(text, str) else text
    raw += b" " * (-len(raw) % 8 if align else 0)
    return len(raw).to_bytes(8, "little") + raw


def write_raw(
    path: Path, header: Mapping[str, Any] | str | bytes, data: bytes = b"", *, align: bool = True
) -> None:
    """Write a safetensors file with exactly this header and data, however wrong."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header_bytes(header, align=align) + data)


def layout(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """The header that describes ``tensors``, one after the other."""
    header: dict[str, Any] = {}
    end = 0
    for name, (dtype, shape, data) in tensors.items():
        begin, end = end, end + len(data)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    return header


def save(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write a correct safetensors file."""
    header = layout(tensors) if metadata is None else {"__metadata__": dict(metadata), **layout(tensors)}
    write_raw(path, header, b"".join(data for _, _, data in tensors.values()))


def load(path: Path) -> tuple[dict[str, Any], bytes]:
    """The header and the data of a correct file, for a case that changes something in them."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    return json.loads(raw[8:start]), raw[start:]


def edit_header(folder: Path, change: Callable[[dict[str, Any]], object], name: str = WEIGHTS) -> None:
    """Apply ``change`` to the header of a weights file and leave its data alone."""
    header, data = load(folder / name)
    change(header)
    write_raw(folder / name, header, data)


def edit_header_text(folder: Path, old: str, new: str, *, align: bool = True) -> None:
    """Replace the first ``old`` in the header of ``model.safetensors``: for what no dict can say."""
    header, data = load(folder / WEIGHTS)
    text = json.dumps(header, separators=(",", ":"))
    assert old in text
    write_raw(folder / WEIGHTS, text.replace(old, new, 1), data, align=align)


def config(**changes: Any) -> dict[str, Any]:
    """The config of the good draft; ``changes`` replace keys, None removes one."""
    whole = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "dtype": "bfloat16",
        "num_hidden_layers": LAYERS,
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "intermediate_size": INTERMEDIATE,
        "vocab_size": 256,
        "hidden_act": "silu",
        "attention_bias": False,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": 512,
        "layer_types": ["full_attention"] * LAYERS,
        "tie_word_embeddings": False,
        "block_size": 8,
        "num_target_layers": 4,
        "dflash_config": {"target_layer_ids": [0, 1, 2], "mask_token_id": 4},
    }
    return {key: value for key, value in (whole | changes).items() if value is not None}


def draft_tensors(
    seed: int = 0, *, intermediate: int = INTERMEDIATE, heavy: bool = False
) -> dict[str, Tensor]:
    """The 3 + 11 x layers tensors of the good draft: bf16 normals (std 0.02), norms near 1, always equal.
    ``heavy`` gives matrices the heavier tails of trained ones."""
    q, kv = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    shapes: dict[str, tuple[int, ...]] = {
        "fc.weight": (HIDDEN, 3 * HIDDEN),
        "hidden_norm.weight": (HIDDEN,),
        "norm.weight": (HIDDEN,),
    }
    for layer in range(LAYERS):
        for name, shape in {
            "input_layernorm": (HIDDEN,),
            "post_attention_layernorm": (HIDDEN,),
            "self_attn.q_proj": (q, HIDDEN),
            "self_attn.k_proj": (kv, HIDDEN),
            "self_attn.v_proj": (kv, HIDDEN),
            "self_attn.o_proj": (HIDDEN, q),
            "self_attn.q_norm": (HEAD_DIM,),
            "self_attn.k_norm": (HEAD_DIM,),
            "mlp.gate_proj": (intermediate, HIDDEN),
            "mlp.up_proj": (intermediate, HIDDEN),
            "mlp.down_proj": (HIDDEN, intermediate),
        }.items():
            shapes[f"layers.{layer}.{name}.weight"] = shape
    random = np.random.default_rng(seed)
    found: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        numbers = random.normal(1.0 if len(shape) == 1 else 0.0, 0.02, shape)
        if heavy and len(shape) > 1:
            numbers *= random.uniform(0.5, 2.0, shape)
        found[name] = ("BF16", shape, bf16(numbers))
    return found


def bf16(values: np.ndarray[Any, Any]) -> bytes:
    """``values`` as bfloat16, little-endian, by cutting float32 to its upper half."""
    return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()


def good_draft(folder: Path, **config_changes: Any) -> None:
    """A complete tiny draft: ``config.json`` and ``model.safetensors``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config(**config_changes), indent=2))
    save(folder / WEIGHTS, draft_tensors(), {"format": "pt"})


def sharded_draft(folder: Path, shards: int = 2) -> None:
    """The same draft in shards with their index."""
    good_draft(folder)
    shard(folder, draft_tensors(), shards)


def shard(folder: Path, tensors: Mapping[str, Tensor], shards: int = 2) -> None:
    """Write ``tensors`` in shards with their index, in place of ``model.safetensors``."""
    (folder / WEIGHTS).unlink()
    weight_map: dict[str, str] = {}
    for number in range(shards):
        name = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        part = dict(list(tensors.items())[number::shards])
        save(folder / name, part, {"format": "pt"})
        weight_map |= dict.fromkeys(part, name)
    total = sum(len(data) for _, _, data in tensors.values())
    write_index(folder, {"metadata": {"total_size": total}, "weight_map": weight_map})


def edit_index(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    index = json.loads((folder / INDEX).read_text())
    change(index)
    write_index(folder, index)


def write_index(folder: Path, index: object) -> None:
    (folder / INDEX).write_text(json.dumps(index, indent=2))


def good_recipe(folder: Path, more_files: Mapping[str, str] | None = None) -> None:
    """A zoo beside ``folder`` whose recipe ``draft`` fits :func:`good_draft`, for cases that say
    ``"recipe": true``. It declares the two files, and ``more_files`` (name -> kind)."""
    files = {WEIGHTS: "weights", "config.json": "config", **(more_files or {})}
    text = (GOOD_ZOO / "recipes" / "draft.yaml").read_text().replace("FILES", json.dumps(files))
    shutil.copytree(GOOD_ZOO, folder.parent, dirs_exist_ok=True)
    (folder.parent / "recipes" / "draft.yaml").write_text(text)


def edit_recipe(folder: Path, old: str, new: str, file: str = "recipes/draft.yaml") -> None:
    """Replace the first ``old`` in a file of the zoo that :func:`good_recipe` made."""
    path = folder.parent / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def base_beside(folder: Path, **config_changes: Any) -> None:
    """A base draft beside ``folder``, of which the recipe says that config and inventory are identical."""
    good_draft(folder.parent / "base", **config_changes)
    base = "base: {repo: ./base, config: identical, inventory: identical}"
    edit_recipe(folder, "target: big", f"target: big\n{base}")


def caveat(folder: Path, code: str) -> None:
    """Let the recipe mention one more hazard."""
    edit_recipe(folder, "caveats: [", f"caveats: [{code}, ")


def edit_profile(folder: Path, old: str, new: str) -> None:
    """:func:`edit_recipe` for the recipe's profile."""
    edit_recipe(folder, old, new, "recipes/profiles/one-gpu.yaml")


def arguments(folder: Path, *lines: str) -> None:
    """More arguments for the recipe's profile."""
    edit_profile(folder, "args:\n", "args:\n" + "".join(f"  - {line}\n" for line in lines))


def on(folder: Path, gpu: str = "H200", engine: str = "sglang==0.5.14") -> None:
    """Another GPU or engine for the recipe's profile."""
    edit_profile(folder, "gpu: H200", f"gpu: {gpu}")
    edit_profile(folder, "engine: sglang==0.5.14", f"engine: {engine}")


def served_by_vllm(folder: Path, **config: Any) -> None:
    """Turn the recipe's profile into one of vLLM with this --speculative-config; None removes a key."""
    good = {"method": "dflash", "model": "{draft}", "num_speculative_tokens": 7}
    stated = json.dumps({key: value for key, value in (good | config).items() if value is not None})
    argument = json.dumps(f"--speculative-config '{stated}'")  # JSON text is a YAML string
    (folder.parent / "recipes" / "profiles" / "one-gpu.yaml").write_text(
        "profile: 1\nname: one-gpu\nengine: vllm==0.33.0\nhardware: {gpu: H200, count: 1}\n"
        "command: vllm serve\nargs:\n"
        "  - '{target}'\n"
        f"  - {argument}\n"
    )
    no_caveats(folder)


def no_caveats(folder: Path) -> None:
    """For an engine that has none of the hazards that the good recipe mentions."""
    edit_recipe(folder, "caveats: [E008, E009]\n", "")


def yarn(folder: Path, amplitude: str = "") -> None:
    """Give recipe and config a YaRN rope that engine versions read differently."""
    keys = {"factor": 4, "original_max_position_embeddings": 128, "mscale": 1.0, "mscale_all_dim": 1.0}
    text = ", ".join(f"{key}: {value}" for key, value in keys.items()) + amplitude
    edit_recipe(folder, "{type: default, theta: 10000}", f"{{type: yarn, theta: 10000, {text}}}")
    edit_config(folder, rope_scaling={"rope_type": "yarn", **keys})


def edit_dflash(folder: Path, **keys: Any) -> None:
    """Replace ``dflash_config`` of the good draft's config by these keys and the good ones."""
    edit_config(folder, dflash_config={"target_layer_ids": [0, 1, 2], "mask_token_id": 4, **keys})


def renamed(folder: Path, name: Callable[[str], str]) -> None:
    """Write the draft with every tensor under another name."""
    save(folder / WEIGHTS, {name(old): tensor for old, tensor in draft_tensors().items()})


def edit_config(folder: Path, **changes: Any) -> None:
    """Change keys of ``config.json`` as it stands; None removes one."""
    path = folder / "config.json"
    whole = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in whole.items() if value is not None}, indent=2))


def forget_amplitude(folder: Path) -> None:
    """Take the rope amplitude out of the training manifest."""
    path = folder.parent / "recipes" / "draft.training.json"
    path.write_text(
        json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "rope_amplitude"})
    )


def training_manifest(folder: Path, **changes: Any) -> None:
    """A training manifest that fits the good recipe, which is made to name it."""
    manifest = {
        "schema": "training-manifest/1",
        "run": "draft",
        "iteration": 384,
        "step": 383,
        "config": config(),
        "rope_amplitude": 1.0,
    }
    path = folder.parent / "recipes" / "draft.training.json"
    path.write_text(json.dumps(manifest | changes, indent=2))
    edit_recipe(folder, "manifest: unknown", "manifest: draft.training.json")
