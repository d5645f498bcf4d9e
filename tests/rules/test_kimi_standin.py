"""kimi-ft-v3 against its full-size stand-in: accepted as it is, refused after any change that matters."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from zoo.recipe.load import load_recipe
from zoo.results import Report, Severity
from zoo.standin import write_standin
from zoo.verify import verify_recipe
from zoo.workspace import Zoo

Header = dict[str, Any]


@pytest.fixture(scope="module")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.conftest import REPOSITORY
    from zoo.workspace import find_zoo

    folder = tmp_path_factory.mktemp("kimi") / "standin"
    recipe = load_recipe(find_zoo(REPOSITORY), "kimi-ft-v3").recipe
    assert recipe is not None
    write_standin(recipe, folder)
    return folder


@pytest.fixture
def header(standin: Path) -> Iterator[Callable[[Callable[[Header], None]], None]]:
    """Rewrite the header of the stand-in for one test. The data stays a hole of the size that it implies."""
    path = standin / "model.safetensors"
    with path.open("rb") as file:
        prefix = file.read(8)
        original = prefix + file.read(int.from_bytes(prefix, "little"))
    size = path.stat().st_size

    def rewrite(change: Callable[[Header], None]) -> None:
        document = json.loads(original[8:])
        change(document)
        put(path, pack(document))

    yield rewrite
    put(path, original)
    assert path.stat().st_size == size


def pack(document: Header) -> bytes:
    """The header with offsets laid out again, in the order of the names."""
    sizes = {"BF16": 2, "F16": 2, "F32": 4}
    offset = 0
    for name, entry in sorted(document.items()):
        if name != "__metadata__":
            nbytes = sizes[entry["dtype"]]
            for dim in entry["shape"]:
                nbytes *= dim
            entry["data_offsets"] = [offset, offset + nbytes]
            offset += nbytes
    raw = json.dumps(document).encode()
    raw += b" " * (-len(raw) % 8)
    return len(raw).to_bytes(8, "little") + raw


def put(path: Path, head: bytes) -> None:
    document = json.loads(head[8:])
    end = max(entry["data_offsets"][1] for name, entry in document.items() if name != "__metadata__")
    path.write_bytes(head)
    with path.open("r+b") as file:
        file.truncate(len(head) + end)


def verify(here: Zoo, standin: Path) -> Report:
    return verify_recipe(here, "kimi-ft-v3", checkpoint=str(standin)).report


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings if finding.severity is Severity.ERROR}


def lines(report: Report) -> set[int | None]:
    return {
        place.line
        for finding in report.findings
        if finding.severity is Severity.ERROR
        for place in (finding.where, *finding.related)
        if place.file and place.file.endswith(".yaml")
    }


def test_the_standin_of_the_published_size_is_accepted(here: Zoo, standin: Path) -> None:
    report = verify(here, standin)
    assert report.exit_status == 0
    assert report.subject["tensors"] == 69
    assert report.subject["dtypes"] == ["BF16"]
    assert report.subject["bytes"] == 6_958_554_112
    warned = {finding.code for finding in report.findings}
    assert {"R020", "R021", "R022", "D004", "E001"} <= warned


def test_its_own_unknowns_are_warnings_that_strict_counts(here: Zoo, standin: Path) -> None:
    strict = verify_recipe(here, "kimi-ft-v3", checkpoint=str(standin), strict=True).report
    assert strict.exit_status == 1


TENSORS = [
    "fc.weight",
    "hidden_norm.weight",
    "norm.weight",
    "layers.0.self_attn.q_norm.weight",
    "layers.3.mlp.down_proj.weight",
    "layers.5.self_attn.k_proj.weight",
]


@pytest.mark.parametrize("name", TENSORS)
def test_a_dropped_tensor_is_missing(
    here: Zoo, standin: Path, header: Callable[[Callable[[Header], None]], None], name: str
) -> None:
    header(lambda document: document.pop(name))
    report = verify(here, standin)
    assert codes(report) == {"I001", "I006"}
    assert report.exit_status == 1
    assert lines(report), "the finding carries the line of the recipe"


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_under_a_name_that_nobody_knows_is_missing_and_unexpected(
    here: Zoo, standin: Path, header: Callable[[Callable[[Header], None]], None], name: str
) -> None:
    header(lambda document: document.update({"extra_" + name.replace(".", "_"): document.pop(name)}))
    assert codes(verify(here, standin)) == {"I001", "I002"}


@pytest.mark.parametrize(
    ("old", "new", "advice"),
    [
        ("", "model.", 'strip the prefix "model."'),
        ("", "module._orig_mod.", 'strip the prefix "module._orig_mod."'),
        ("", "draft.", 'strip the prefix "draft."'),
        ("fc.", "context_proj.", "rename it to fc.weight"),
        ("hidden_norm.", "context_norm.", "rename it to hidden_norm.weight"),
        ("fc.", "draft_model.context_proj.", "rename it to fc.weight"),
        ("layers.0.", "midlayer.", "rename midlayer. to layers.0."),
    ],
)
def test_foreign_names_come_with_their_rename(
    here: Zoo,
    standin: Path,
    header: Callable[[Callable[[Header], None]], None],
    old: str,
    new: str,
    advice: str,
) -> None:
    def rename(document: Header) -> None:
        for name in [key for key in document if key.startswith(old) and key != "__metadata__"]:
            document[new + name.removeprefix(old)] = document.pop(name)

    header(rename)
    report = verify(here, standin)
    assert codes(report) == {"I005"}
    assert advice in " ".join(finding.hint for finding in report.findings if finding.code == "I005")


@pytest.mark.parametrize("name", TENSORS)
def test_a_reshaped_tensor_is_found(
    here: Zoo, standin: Path, header: Callable[[Callable[[Header], None]], None], name: str
) -> None:
    def reshape(document: Header) -> None:
        document[name]["shape"][-1] -= 1

    header(reshape)
    report = verify(here, standin)
    assert codes(report) == ({"I003", "C024"} if name == "fc.weight" else {"I003"})
    assert lines(report)


def test_a_transposed_tensor_is_found(
    here: Zoo, standin: Path, header: Callable[[Callable[[Header], None]], None]
) -> None:
    header(lambda document: document["layers.1.mlp.up_proj.weight"]["shape"].reverse())
    assert codes(verify(here, standin)) == {"I003"}


@pytest.mark.parametrize("dtype", ["F16", "F32"])
def test_a_cast_tensor_is_found(
    here: Zoo, standin: Path, header: Callable[[Callable[[Header], None]], None], dtype: str
) -> None:
    header(lambda document: document["norm.weight"].update(dtype=dtype))
    report = verify(here, standin)
    assert codes(report) == {"I004"}
    assert lines(report)


def test_an_extra_embedding_is_foreign_to_a_draft_that_borrows_it(
    here: Zoo, standin: Path, header: Callable[[Callable[[Header], None]], None]
) -> None:
    entry = {"dtype": "BF16", "shape": [8, 8], "data_offsets": [0, 0]}
    header(lambda document: document.update({"embed_tokens.weight": entry}))
    assert codes(verify(here, standin)) == {"I005", "I006"}


# Keys of the stand-in's config, and some that it lacks, with the code that a change of the value must give.
CHANGED = {
    "/architectures": ("Qwen3ForCausalLM", "C070"),
    "/attention_bias": (True, "C010"),
    "/attention_dropout": (0.1, "C080"),
    "/block_size": (16, "C011"),
    "/dflash_config/mask_token_id": (163837, "C030"),
    "/dflash_config/target_layer_ids": ([2, 13, 25, 36, 48, 59], "C021"),
    "/dtype": ("float16", "C060"),
    "/head_dim": (112, "C010"),
    "/hidden_act": ("gelu", "C080"),
    "/hidden_size": (7160, "C010"),
    "/initializer_range": (0.03, "C080"),
    "/intermediate_size": (18000, "C010"),
    "/layer_types": (["full_attention"] * 5 + ["sliding_attention"], "C040"),
    "/max_position_embeddings": (32768, "C010"),
    "/max_window_layers": (5, "C080"),
    "/model_type": ("llama", "C070"),
    "/num_attention_heads": (32, "C010"),
    "/num_hidden_layers": (5, "C010"),
    "/num_key_value_heads": (4, "C010"),
    "/num_target_layers": (6, "C026"),
    "/rms_norm_eps": (1e-6, "C080"),
    "/rope_scaling/rope_type": ("linear", "C050"),
    "/rope_scaling/factor": (32, "C050"),
    "/rope_scaling/original_max_position_embeddings": (8192, "C050"),
    "/rope_scaling/beta_fast": (16, "C050"),
    "/rope_scaling/beta_slow": (2, "C050"),
    "/rope_scaling/mscale": (0.707, "C050"),
    "/rope_scaling/mscale_all_dim": (0.5, "C050"),
    "/rope_theta": (10000, "C050"),
    "/sliding_window": (2048, "C040"),
    "/tie_word_embeddings": (True, "C080"),
    "/use_cache": (False, "C080"),
    "/use_sliding_window": (True, "C040"),
    "/vocab_size": (163841, "C010"),
    # Keys that the file does not have and that some engine would read.
    "/rope_scaling/attention_factor": (1.0, "C050"),
    "/rope_scaling/attn_factor": (1.0, "C050"),
    "/rope_parameters": ({"rope_type": "default", "rope_theta": 50000}, "C050"),
    "/dflash_config/block_size": (4, "C011"),
    "/dflash_config/conv_kernel_size": (2, "C080"),
    "/dflash_config/projector_type": ("domino", "C080"),
    "/dflash_config/mask_token": ("<|MASK|>", "C030"),
    "/mask_token_id": (163837, "C012"),
    "/target_layer_ids": ([1, 12], "C012"),
    "/is_causal": (True, "C040"),
    "/torch_dtype": ("float32", "C060"),
    "/quantization_config": ({"quant_method": "modelopt"}, "C061"),
    "/mask_token": ("<|MASK|>", "C080"),
    "/emb_dim": (256, "C080"),
    "/projector_type": ("domino", "C080"),
    "/rope_is_neox_style": (False, "C050"),
    "/is_neox_style": (False, "C080"),
    "/has_embed_tokens": (True, "C080"),
    "/attention_sink_bias": (True, "C080"),
    "/sliding_window_size": (128, "C080"),
    "/text_config": ({"num_hidden_layers": 5}, "C080"),
    "/compression_config": ({"quant_method": "x"}, "C061"),
    "/rope_scaling": (None, "C050"),
    "/dflash_config": (5, "C020"),
    "/auto_map": ({"AutoConfig": "x.Y"}, "X"),
}


@pytest.fixture
def config(standin: Path) -> Iterator[dict[str, Any]]:
    path = standin / "config.json"
    original = path.read_text()
    yield json.loads(original)
    path.write_text(original)


def every_pointer(config: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in config.items():
        if isinstance(value, dict):
            yield from every_pointer(value, f"{prefix}/{key}")
        else:
            yield f"{prefix}/{key}"


def changed(config: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """A copy of the config with the value at ``pointer`` set, or with None as the value removed."""
    document = copy.deepcopy(config)
    *parents, key = pointer.strip("/").split("/")
    inner = document
    for parent in parents:
        inner = inner[parent]
    if value is None:
        del inner[key]
    else:
        inner[key] = value
    return document


def test_every_key_of_the_config_has_its_mutation(config: dict[str, Any]) -> None:
    assert set(every_pointer(config)) <= set(CHANGED)


@pytest.mark.parametrize("pointer", CHANGED)
def test_a_changed_config_key_is_found(
    here: Zoo, standin: Path, config: dict[str, Any], pointer: str
) -> None:
    value, code = CHANGED[pointer]
    (standin / "config.json").write_text(json.dumps(changed(config, pointer, value)))
    report = verify(here, standin)
    assert report.exit_status == 1
    assert any(found.startswith(code) for found in codes(report)), codes(report)
    assert lines(report), "the finding carries the line of the recipe"


def test_a_removed_config_key_is_found(here: Zoo, standin: Path, config: dict[str, Any]) -> None:
    harmless = {"/sliding_window"}  # the recipe's own null
    for pointer in set(every_pointer(config)) - harmless:
        (standin / "config.json").write_text(json.dumps(changed(config, pointer, None)))
        report = verify(here, standin)
        assert report.exit_status == 1, pointer
        assert lines(report), pointer


def test_rope_parameters_hide_rope_scaling_from_engines(
    here: Zoo, standin: Path, config: dict[str, Any]
) -> None:
    """SGLang's get_rope_config takes rope_parameters whole, or not at all."""
    (standin / "config.json").write_text(json.dumps({**config, "rope_parameters": {"rope_theta": 50000}}))
    assert "C050" in codes(verify(here, standin))


@pytest.mark.parametrize(
    "pointer",
    [
        "/rope_is_neox_style",
        "/is_neox_style",
        "/rope_scaling/truncate",
        "/dflash_config/block_size",
        "/head_dim",
    ],
)
def test_a_null_that_an_engine_takes_for_a_value_is_found(
    here: Zoo, standin: Path, config: dict[str, Any], pointer: str
) -> None:
    *parents, key = pointer.strip("/").split("/")
    inner = config
    for parent in parents:
        inner = inner[parent]
    inner[key] = None
    (standin / "config.json").write_text(json.dumps(config))
    assert "C014" in codes(verify(here, standin))


@pytest.mark.parametrize("key", ["max_sequence_length", "seq_length", "v_head_dim", "attention_chunk_size"])
def test_a_key_that_sglang_reads_beside_the_usual_ones_is_found(
    here: Zoo, standin: Path, config: dict[str, Any], key: str
) -> None:
    (standin / "config.json").write_text(json.dumps({**config, key: 512}))
    assert codes(verify(here, standin)) == {"C080"}


def test_the_layout_of_transformers_5_means_the_same(
    here: Zoo, standin: Path, config: dict[str, Any]
) -> None:
    document = dict(config)
    scaling, theta = document.pop("rope_scaling"), document.pop("rope_theta")
    document["rope_parameters"] = {**scaling, "rope_theta": theta}
    document["dflash_config"]["block_size"] = document.pop("block_size")
    (standin / "config.json").write_text(json.dumps(document))
    assert verify(here, standin).exit_status == 0


def test_whole_numbers_may_be_written_as_floats(here: Zoo, standin: Path, config: dict[str, Any]) -> None:
    document = dict(config)
    document["rope_theta"] = 50000.0
    document["rope_scaling"] |= {"factor": 64.0, "type": "yarn"}
    (standin / "config.json").write_text(json.dumps(document))
    assert verify(here, standin).exit_status == 0
