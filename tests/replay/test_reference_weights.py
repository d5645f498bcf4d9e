"""The weights of a draft are read as they are, and what cannot be read says which file."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.replay.reference_kit import TINY
from zoo.checkpoint.folder import open_checkpoint
from zoo.errors import UnreadableError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the torch extra")

from zoo.replay.reference.weights import read_weights  # noqa: E402


def test_every_tensor_of_the_folder_is_read_in_its_dtype() -> None:
    from safetensors.torch import load_file

    found = read_weights(open_checkpoint(TINY / "tiny-ft", "tiny-ft"))
    expected = load_file(TINY / "tiny-ft" / "model.safetensors")
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    assert {tensor.dtype for tensor in found.values()} == {torch.bfloat16}


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "draft"
    shutil.copytree(TINY / "tiny-ft", folder)
    weights = folder / "model.safetensors"
    checkpoint = open_checkpoint(folder, "draft")
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(UnreadableError, match=r"model\.safetensors"):
        read_weights(checkpoint)


def test_weights_that_are_on_a_hub_are_not_read_as_zeros() -> None:
    there = replace(open_checkpoint(TINY / "tiny-ft", "hf://x/y"), opener=lambda name: io.BytesIO())
    with pytest.raises(UnreadableError, match="not on this disk"):
        read_weights(there)
