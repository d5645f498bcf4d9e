"""Digests: what changes them and what must not."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.digests import FileDigest, basis_digest, canonical_json, checkpoint_digest, sha256_file
from zoo.recipe.load import usable_recipe
from zoo.workspace import Zoo, find_zoo


def test_canonical_json_sorts_keys_has_no_spaces_and_is_utf_8() -> None:
    assert canonical_json({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'.encode()


def test_a_whole_float_and_an_integer_are_one_fact() -> None:
    assert canonical_json({"mscale": 1.0, "big": 1e300}) == b'{"big":1e+300,"mscale":1}'
    assert canonical_json({"flag": True}) == b'{"flag":true}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_json_cannot_say_has_no_digest(value: object) -> None:
    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        canonical_json({"x": value})


@pytest.mark.parametrize("value", [{1: "x"}, {"x": {1, 2}}, b"x"])
def test_a_type_that_json_does_not_have_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        canonical_json(value)


def test_a_checkpoint_digest_does_not_depend_on_the_order_of_the_files() -> None:
    one, two = FileDigest("config.json", 5, "a" * 64), FileDigest("model.safetensors", 9, "b" * 64)
    expected = (
        f'[{{"path":"config.json","sha256":"{"a" * 64}","size":5}},'
        f'{{"path":"model.safetensors","sha256":"{"b" * 64}","size":9}}]'
    )
    assert checkpoint_digest([two, one]) == hashlib.sha256(expected.encode()).hexdigest()
    assert checkpoint_digest([one, two]) == checkpoint_digest(iter([two, one]))


def test_a_checkpoint_without_files_or_with_one_path_twice_has_no_digest() -> None:
    one = FileDigest("config.json", 5, "a" * 64)
    with pytest.raises(ValueError, match="without files"):
        checkpoint_digest([])
    with pytest.raises(ValueError, match="one path"):
        checkpoint_digest([one, one])


def test_the_sha256_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 3_000_000)
    assert sha256_file(path) == hashlib.sha256(b"x" * 3_000_000).hexdigest()


@pytest.fixture
def basis(here: Zoo, tmp_path: Path) -> Callable[..., str]:
    """The basis digest of kimi-ft-v3 after replacing one text by another in its files."""
    shutil.copytree(here.recipes, tmp_path / "recipes")
    (tmp_path / "zoo.toml").write_text("")

    def digest(old: str = "", new: str = "", file: str = "kimi-ft-v3.yaml", **settings: object) -> str:
        path = tmp_path / "recipes" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1) if old else text)
        try:
            recipe = usable_recipe(find_zoo(tmp_path), "kimi-ft-v3")
        finally:
            path.write_text(text)
        return basis_digest(recipe, recipe.profiles[0].data, "c" * 64, settings)

    return digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tuned for Hex agent traffic.", "Tuned for Hex agent trafic."),
        ("caveats:\n  - E001\n", "caveats:\n"),
        ("value: 2.06", "value: 2.07"),
        ("A DFlash draft for", "The DFlash draft for"),
        ("assumed: [/aux_layers/ids, ", "assumed: ["),
        ("mscale: 1.0", "mscale: 1"),
        ("technical report (July 2026)", "report"),
        ("    tech-report.pdf: {kind: document", "    report.pdf: {kind: document"),
        ("tags: [hex, kimi-k2]", "tags: [hex]"),
    ],
)
def test_prose_claims_caveats_and_documents_do_not_make_evidence_stale(
    basis: Callable[..., str], old: str, new: str
) -> None:
    assert basis(old, new) == basis()


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("ids: [1, 12,", "ids: [2, 12,", "kimi-ft-v3.yaml"),
        ("mask_token: {id: 163838}", "mask_token: {id: 163837}", "kimi-ft-v3.yaml"),
        ("block_size: 8", "block_size: 16", "kimi-ft-v3.yaml"),
        ("factor: 64", "factor: 32", "kimi-ft-v3.yaml"),
        ("rms_norm_eps: 1.0e-5", "rms_norm_eps: 1.0e-6", "kimi-ft-v3.yaml"),
        ("tensors: 69", "tensors: 70", "kimi-ft-v3.yaml"),
        ("revision: unknown\nserved", "revision: v2\nserved", "targets/kimi-k2.7-code.yaml"),
        ("--kv-cache-dtype bf16", "--kv-cache-dtype auto", "profiles/sglang-0.5.14-b200x8.yaml"),
        ("sglang==0.5.14", "sglang==0.5.15", "profiles/sglang-0.5.14-b200x8.yaml"),
    ],
)
def test_a_fact_that_a_check_depends_on_makes_evidence_stale(
    basis: Callable[..., str], old: str, new: str, file: str
) -> None:
    assert basis(old, new, file) != basis()


def test_the_settings_of_the_check_and_the_checkpoint_are_part_of_the_basis(
    basis: Callable[..., str], here: Zoo
) -> None:
    assert basis(temperature=0) != basis(temperature=1) != basis()
    recipe = usable_recipe(here, "kimi-ft-v3")
    assert basis_digest(recipe, None, "c" * 64, {}) != basis_digest(recipe, None, "d" * 64, {})
