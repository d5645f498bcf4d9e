"""``zoo fix``: a mended copy, and an original that nobody touched."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Ran
from tests.corpus import families, kit
from zoo.results import Report
from zoo.verify import verify_source

Run = Callable[..., Ran]


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings}


@pytest.mark.parametrize(
    "rename",
    [
        lambda name: f"module._orig_mod.{name}",
        lambda name: f"draft_model.{name}",
        lambda name: name.replace("fc.", "context_proj.").replace("hidden_norm.", "context_norm."),
        lambda name: name.replace("layers.0.", "midlayer."),
    ],
)
def test_foreign_names_become_native_ones_with_the_same_bytes(
    run_zoo: Run, tmp_path: Path, rename: Callable[[str], str]
) -> None:
    kit.good_draft(tmp_path / "draft")
    kit.renamed(tmp_path / "draft", rename)
    before = digests(tmp_path / "draft")
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == 0, ran.out + ran.err
    assert digests(tmp_path / "draft") == before
    assert codes(verify_source(f"{tmp_path}/mended").report) == set()
    header, data = kit.load(tmp_path / "mended" / kit.WEIGHTS)
    for name, (dtype, shape, wanted) in kit.draft_tensors().items():
        begin, end = header[name]["data_offsets"]
        assert (header[name]["dtype"], tuple(header[name]["shape"])) == (dtype, shape)
        assert data[begin:end] == wanted


def test_what_the_target_lends_and_what_training_left_is_removed(run_zoo: Run, tmp_path: Path) -> None:
    kit.good_draft(tmp_path / "draft")
    more = {
        "embed_tokens.weight": ("BF16", (256, 64), bytes(256 * 64 * 2)),
        "layers.0.self_attn.rotary_emb.inv_freq": ("F32", (8,), bytes(32)),
    }
    kit.save(tmp_path / "draft" / kit.WEIGHTS, kit.draft_tensors() | more)
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == 0, ran.out
    assert "remove embed_tokens.weight" in ran.out
    assert codes(verify_source(f"{tmp_path}/mended").report) == set()


def test_float32_tensors_are_rounded_to_bfloat16_as_numpy_would(
    run_zoo: Run, new_zoo: object, tmp_path: Path
) -> None:
    kit.good_draft(tmp_path / "draft")
    kit.good_recipe(tmp_path / "draft")
    tensors = kit.draft_tensors()
    values = np.array([1.0, 1.00390625, 1.004, np.nan, np.inf, -np.inf, 3e38, -0.0] * 8, "<f4")
    tensors["norm.weight"] = ("F32", (64,), values.tobytes())
    kit.save(tmp_path / "draft" / kit.WEIGHTS, tensors)
    args = (
        "--zoo",
        tmp_path,
        "fix",
        "draft",
        "--checkpoint",
        tmp_path / "draft",
        "--out",
        tmp_path / "mended",
    )
    ran = run_zoo(*args)
    assert ran.status == 0, ran.out + ran.err
    assert "cast norm.weight, from F32 to BF16" in ran.out
    header, data = kit.load(tmp_path / "mended" / kit.WEIGHTS)
    begin, end = header["norm.weight"]["data_offsets"]
    bits = np.frombuffer(data[begin:end], "<u2").astype("<u4") << 16
    mended = bits.view("<f4")[:8]
    assert mended.tolist()[:3] == [1.0, 1.0, 1.0078125]
    assert np.isnan(mended[3])
    assert mended[4:6].tolist() == [np.inf, -np.inf]
    assert np.isfinite(mended[6])
    assert np.signbit(mended[7])


def test_shards_and_their_index_are_mended_together(run_zoo: Run, tmp_path: Path) -> None:
    kit.sharded_draft(tmp_path / "draft")
    for shard in (tmp_path / "draft").glob("*.safetensors"):
        kit.edit_header(tmp_path / "draft", lambda header: prefix(header), shard.name)
    kit.edit_index(tmp_path / "draft", lambda index: prefix(index["weight_map"]))
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == 0, ran.out + ran.err
    assert codes(verify_source(f"{tmp_path}/mended").report) == set()


def prefix(entries: dict[str, object]) -> None:
    for name in [key for key in entries if key != "__metadata__"]:
        entries[f"module.{name}"] = entries.pop(name)


def test_a_name_that_is_already_taken_is_left_to_a_person(run_zoo: Run, tmp_path: Path) -> None:
    kit.good_draft(tmp_path / "draft")
    twice = kit.draft_tensors() | {"model.fc.weight": kit.draft_tensors(seed=1)["fc.weight"]}
    kit.save(tmp_path / "draft" / kit.WEIGHTS, twice)
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == 1
    assert "1 error that only a person can mend" in ran.out
    assert not (tmp_path / "mended").exists()


def test_a_missing_tensor_is_not_made_up(run_zoo: Run, tmp_path: Path) -> None:
    kit.good_draft(tmp_path / "draft")
    kit.renamed(tmp_path / "draft", lambda name: f"module.{name}")
    kit.edit_header(tmp_path / "draft", lambda header: header.update({"x": header.pop("module.norm.weight")}))
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == 1
    assert codes(verify_source(f"{tmp_path}/mended").report) == {"I001", "I002"}


def test_a_good_draft_is_not_copied_and_a_full_folder_not_written_to(run_zoo: Run, tmp_path: Path) -> None:
    kit.good_draft(tmp_path / "draft")
    assert run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended").status == 0
    assert not (tmp_path / "mended").exists()
    kit.renamed(tmp_path / "draft", lambda name: f"module.{name}")
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "draft")
    assert ran.status == 2
    assert "is not empty" in ran.err


@pytest.mark.parametrize("way", ["inside", "empty folder inside", "through a link"])
def test_a_copy_inside_the_original_is_refused(run_zoo: Run, tmp_path: Path, way: str) -> None:
    kit.good_draft(tmp_path / "draft")
    kit.renamed(tmp_path / "draft", lambda name: f"module.{name}")
    out = tmp_path / "draft" / "sub" / "mended"
    if way != "inside":
        out.mkdir(parents=True)
    if way == "through a link":
        (tmp_path / "link").symlink_to(out)
        out = tmp_path / "link"
    before = sorted(tmp_path.rglob("*"))
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", out)
    assert ran.status == 2
    assert "which must stay as it is" in ran.err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_copy_beside_the_original_with_its_name_as_prefix_is_none_inside_it(
    run_zoo: Run, tmp_path: Path
) -> None:
    kit.good_draft(tmp_path / "draft")
    kit.renamed(tmp_path / "draft", lambda name: f"module.{name}")
    assert run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "draft-mended").status == 0


def test_a_header_that_cannot_be_understood_cannot_be_mended(run_zoo: Run, tmp_path: Path) -> None:
    kit.good_draft(tmp_path / "draft")
    (tmp_path / "draft" / kit.WEIGHTS).write_bytes(b"not safetensors")
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == 2
    assert "nothing can be mended" in ran.err


@pytest.mark.parametrize(
    ("fused", "parts"), [("self_attn.qkv", ("q", "k", "v")), ("mlp.gate_up", ("gate", "up"))]
)
def test_a_fused_projection_is_split_into_the_rows_of_its_parts(
    run_zoo: Run, tmp_path: Path, fused: str, parts: tuple[str, ...]
) -> None:
    whole = families.eagle3()
    module = fused.partition(".")[0]
    names = [f"midlayer.{module}.{part}_proj.weight" for part in parts]
    left = {name: tensor for name, tensor in whole.tensors.items() if name not in names}
    taken = [whole.tensors[name] for name in names]
    rows = sum(shape[0] for _, shape, _ in taken)
    data = b"".join(each for _, _, each in taken)
    left[f"model.midlayer.{fused}_proj.weight"] = ("BF16", (rows, *taken[0][1][1:]), data)
    families.write(tmp_path / "draft", replace(whole, tensors=left))
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == 0, ran.out + ran.err
    assert f"split model.midlayer.{fused}_proj.weight into {', '.join(names)}" in ran.out
    header, data = kit.load(tmp_path / "mended" / kit.WEIGHTS)
    for name in names:
        begin, end = header[name]["data_offsets"]
        dtype, shape, wanted = whole.tensors[name]
        assert (header[name]["dtype"], tuple(header[name]["shape"]), data[begin:end]) == (
            dtype,
            shape,
            wanted,
        )


def test_a_fused_projection_whose_rows_do_not_add_up_is_left(run_zoo: Run, tmp_path: Path) -> None:
    kit.good_draft(tmp_path / "draft")
    tensors = kit.draft_tensors()
    for part in "qkv":
        del tensors[f"layers.0.self_attn.{part}_proj.weight"]
    tensors["layers.0.self_attn.qkv_proj.weight"] = ("BF16", (130, 64), bytes(130 * 64 * 2))
    kit.save(tmp_path / "draft" / kit.WEIGHTS, tensors)
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == 1
    assert "4 errors that only a person can mend: zoo verify" in ran.out


def test_a_map_of_small_integers_is_widened(run_zoo: Run, tmp_path: Path) -> None:
    draft = families.eagle3()
    _, shape, data = draft.tensors["d2t"]
    draft.tensors["d2t"] = ("I32", shape, np.frombuffer(data, "<i8").astype("<i4").tobytes())
    families.write(tmp_path / "draft", draft)
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == 0, ran.out + ran.err
    header, mended = kit.load(tmp_path / "mended" / kit.WEIGHTS)
    begin, end = header["d2t"]["data_offsets"]
    assert (header["d2t"]["dtype"], mended[begin:end]) == ("I64", data)


@pytest.mark.parametrize("same", [True, False])
def test_a_second_copy_goes_where_its_bytes_are_those_of_the_first(
    run_zoo: Run, tmp_path: Path, same: bool
) -> None:
    draft = families.eagle3()
    dtype, shape, data = draft.tensors["midlayer.hidden_norm.weight"]
    draft.tensors["layers.0.hidden_norm.weight"] = (dtype, shape, data if same else bytes(len(data)))
    families.write(tmp_path / "draft", draft)
    ran = run_zoo("fix", f"{tmp_path}/draft", "--out", tmp_path / "mended")
    assert ran.status == (0 if same else 1)
    assert ("remove layers.0.hidden_norm.weight" in ran.out) == same
    assert (tmp_path / "mended").exists() == same
