"""Making the tiny zoo of these tests (tests/release/conftest.py)."""

from __future__ import annotations

from pathlib import Path

from zoo.checkpoint.writer import header_bytes
from zoo.recipe.config import inventory_of
from zoo.recipe.load import usable_recipe
from zoo.standin import Fill, write_standin
from zoo.workspace import find_zoo

RECIPE = """\
recipe: 1
name: tiny
version: 1.0.0
repo: zoo-tests/tiny
title: A tiny draft
summary: A draft that exists to be released in tests.
license: {id: apache-2.0}
target: tiny-target
checkpoint:
  source: ./checkpoint
  family: dflash
  tensors: 25
  dtype: bfloat16
  files:
    model.safetensors: weights
    config.json: config
    report.pdf: document
draft:
  layers: 2
  block_size: 4
  aux_layers: {ids: [1, 4, 6], convention: after-layer}
  mask_token: {id: 255}
  rope: {type: default, theta: 10000}
  borrows: {embed_tokens: target, lm_head: target}
  config:
    architectures: [DFlashDraftModel]
    model_type: qwen3
    hidden_size: 64
    num_attention_heads: 4
    num_key_value_heads: 2
    head_dim: 16
    intermediate_size: 96
    vocab_size: 256
    hidden_act: silu
    rms_norm_eps: 1.0e-6
    attention_bias: false
    attention_dropout: 0.0
    max_position_embeddings: 512
    layer_types: [full_attention, full_attention]
    sliding_window: null
    use_sliding_window: false
    tie_word_embeddings: false
    initializer_range: 0.02
training:
  run: tiny
  export_of: {checkpoint: iter_0000010, step: 9}
  manifest: unknown
serve: [sglang-tiny]
gates: {}
"""
TARGET = """\
target: 1
name: tiny-target
repo: zoo-tests/tiny-target
revision: 0123456789abcdef0123456789abcdef01234567
layers: 8
hidden_size: 64
vocab_size: 256
"""
PROFILE = """\
profile: 1
name: sglang-tiny
engine: sglang==0.5.14
hardware: {gpu: H200, count: 1}
command: python -m sglang.launch_server
args:
  - --model-path {target}
  - --speculative-algorithm DFLASH
  - --speculative-draft-model-path {draft}
  - --speculative-dflash-block-size 4
"""


def make_zoo(root: Path) -> None:
    """A zoo with the recipe "tiny", which publishes to ``published/``."""
    (root / "recipes" / "targets").mkdir(parents=True)
    (root / "recipes" / "profiles").mkdir()
    (root / "zoo.toml").write_text('publish_to = "dir:published"\n')
    (root / "recipes" / "tiny.yaml").write_text(RECIPE)
    (root / "recipes" / "targets" / "tiny-target.yaml").write_text(TARGET)
    (root / "recipes" / "profiles" / "sglang-tiny.yaml").write_text(PROFILE)


def make_checkpoint(root: Path, folder: Path) -> None:
    """A checkpoint that nothing tells from a trained one: a random stand-in without its mark."""
    recipe = usable_recipe(find_zoo(root), "tiny")
    write_standin(recipe, folder, Fill.RANDOM)
    tensors = inventory_of(recipe)
    weights = folder / "model.safetensors"
    data = weights.read_bytes()[-sum(spec.nbytes for spec in tensors.values()) :]
    weights.write_bytes(header_bytes(tensors, {"format": "pt"}) + data)
