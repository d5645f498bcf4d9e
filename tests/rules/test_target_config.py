"""The target by its own files: what is read of them, what is found, and what stays unchecked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Ran
from tests.corpus.beside import TOKENS, target, target_config
from tests.corpus.kit import (
    HIDDEN,
    WEIGHTS,
    bf16,
    edit_config,
    edit_dflash,
    edit_recipe,
    good_draft,
    good_recipe,
    save,
    write_index,
)
from zoo.checkpoint import target as reader
from zoo.checkpoint.model import Checkpoint
from zoo.checkpoint.target import Embedding, TargetModel, open_target, rows_like
from zoo.errors import UnreadableError
from zoo.results import CheckResult, Outcome, Report, Severity
from zoo.rules import RULES, Level, Subject
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo

CODES = [f"C11{number}" for number in range(10)] + ["C120", "C121"]


def opened(path: Path) -> TargetModel:
    found, reason, findings = open_target(path, "target")
    assert found is not None, reason
    assert findings == ()
    return found


def results(report: Report) -> dict[str, CheckResult]:
    return {result.code: result for result in report.results}


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings}


def test_the_facts_of_a_target(tmp_path: Path) -> None:
    found = opened(target(tmp_path / "draft"))
    assert (found.layers, found.hidden_size, found.vocab_size) == (4, HIDDEN, 256)
    assert found.max_position_embeddings == 512
    assert found.special_ids == {0: "eos", 3: "eos", 1: "pad"}
    assert found.tokens == TOKENS
    assert found.embedding is not None
    assert (found.embedding.rows, found.embedding.row_bytes) == (256, 2 * HIDDEN)
    assert found.where().file == "target/config.json"


@pytest.mark.parametrize("outer", ["text_config", "llm_config", "language_config", "thinker_config"])
def test_a_nested_language_model_is_found(tmp_path: Path, outer: str) -> None:
    path = target(tmp_path / "draft", {"num_hidden_layers": 99, outer: target_config(num_hidden_layers=7)})
    found = opened(path)
    assert (found.layers, found.pointer) == (7, f"/{outer}")


def test_a_language_model_two_levels_down_is_found_and_takes_what_it_lacks_from_the_top(
    tmp_path: Path,
) -> None:
    inner = target_config(vocab_size=None)
    whole = {"vocab_size": 999, "thinker_config": {"text_config": inner}}
    found = opened(target(tmp_path / "draft", whole))
    assert (found.vocab_size, found.pointer) == (999, "/thinker_config/text_config")


def test_a_config_without_its_dimensions_is_not_checked(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    target(tmp_path / "draft", target_config(hidden_size=None))
    report = verify_source(f"{tmp_path}/draft", target=f"{tmp_path}/target").report
    assert report.exit_status == 2
    reason = results(report)["C113"].reason
    assert reason.endswith("config.json does not state num_hidden_layers, hidden_size and vocab_size")


def test_without_a_target_nothing_is_checked_and_the_exit_does_not_change(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    report = verify_source(f"{tmp_path}/draft", level=Level.DEEP).report
    assert report.exit_status == 0
    for code in CODES:
        assert results(report)[code].outcome is Outcome.NOT_CHECKED
        assert not results(report)[code].required
    assert "--target" in results(report)["C113"].reason


def test_a_lone_config_leaves_tokenizer_and_embedding_unchecked(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    path = target(tmp_path / "draft")
    report = verify_source(f"{tmp_path}/draft", target=f"{path}/config.json", level=Level.DEEP).report
    unchecked = {code for code in CODES if results(report)[code].outcome is Outcome.NOT_CHECKED}
    assert unchecked == {"C111", "C112", "C117", "C121"}
    assert report.exit_status == 0


@pytest.mark.parametrize("named", ["nowhere", "draft/model.safetensors/x"])
def test_a_target_that_is_not_there_is_said(tmp_path: Path, named: str) -> None:
    good_draft(tmp_path / "draft")
    with pytest.raises(UnreadableError, match="is not there"):
        verify_source(f"{tmp_path}/draft", target=f"{tmp_path}/{named}")


def test_a_folder_without_a_config_is_no_target(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableError, match=r"has no config\.json"):
        verify_source(f"{tmp_path}/draft", target=f"{tmp_path}/empty")


def test_links_out_of_the_target_and_special_files_are_not_read(tmp_path: Path) -> None:
    path = target(tmp_path / "draft")
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"added_tokens": [{"id": 4, "content": "secret"}], "pad_token_id": 4}))
    for name in ("tokenizer.json", "generation_config.json", WEIGHTS):
        (path / name).unlink()
    (path / "tokenizer.json").symlink_to(secret)
    (path / "generation_config.json").symlink_to(secret)
    os.mkfifo(path / WEIGHTS)
    found = opened(path)
    assert (found.tokens, found.tokenizer_sha256, found.embedding) == ({}, "", None)
    assert 4 not in found.special_ids


def test_the_embedding_is_found_through_the_index(tmp_path: Path) -> None:
    path = target(tmp_path / "draft")
    (path / WEIGHTS).unlink()
    name = "model.language_model.embed_tokens.weight"
    save(path / "a.safetensors", {"model.layers.9.embed_tokens.weight": ("BF16", (3, 2), bytes(12))})
    save(path / "b.safetensors", {"x": ("U8", (8,), bytes(8)), name: ("BF16", (5, 2), bytes(20))})
    weights = {"model.layers.9.embed_tokens.weight": "a.safetensors", "x": "b.safetensors"}
    write_index(path, {"metadata": {}, "weight_map": {**weights, name: "b.safetensors"}})
    found = opened(path).embedding
    assert found is not None
    assert (found.tensor, found.rows, found.row_bytes, found.path.name) == (name, 5, 4, "b.safetensors")


def test_an_index_that_names_a_missing_shard_shows_no_embedding(tmp_path: Path) -> None:
    path = target(tmp_path / "draft")
    write_index(path, {"metadata": {}, "weight_map": {"model.embed_tokens.weight": "gone.safetensors"}})
    assert opened(path).embedding is None


def test_only_headers_of_the_target_are_read_at_header_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good_draft(tmp_path / "draft")
    target(tmp_path / "draft")
    monkeypatch.setattr("zoo.checkpoint.target.rows_like", lambda *_: pytest.fail("a row was read"))
    report = verify_source(f"{tmp_path}/draft", target=f"{tmp_path}/target").report
    assert codes(report) == set()
    assert "C121" not in results(report)


def table(tmp_path: Path, rows: int, twins: dict[int, int]) -> Embedding:
    """An embedding of ``rows`` rows in which row ``twin`` is a copy of row ``of``."""
    values = np.random.default_rng(7).normal(0.0, 0.02, (rows, HIDDEN))
    for twin, of in twins.items():
        values[twin] = values[of]
    path = tmp_path / "t.safetensors"
    save(path, {"pad": ("U8", (8,), bytes(8)), "embed_tokens.weight": ("BF16", (rows, HIDDEN), bf16(values))})
    start = path.stat().st_size - rows * 2 * HIDDEN
    return Embedding(path, "embed_tokens.weight", rows, 2 * HIDDEN, start)


def test_rows_that_are_alike_are_found_across_chunks(tmp_path: Path) -> None:
    # 8,192 rows of 128 bytes make a chunk of 1 MiB.
    embedding = table(tmp_path, 20_000, {0: 4, 8191: 4, 8192: 4, 19_999: 4})
    assert rows_like(embedding, 4) == (0, 8191, 8192, 19_999)
    assert rows_like(embedding, 5) == ()


def test_a_shorter_file_than_its_header_says_is_said(tmp_path: Path) -> None:
    embedding = table(tmp_path, 100, {})
    os.truncate(embedding.path, embedding.start + 50)
    with pytest.raises(UnreadableError, match="the target's embedding cannot be read"):
        rows_like(embedding, 3)


def test_a_mask_whose_row_is_another_tokens_is_a_note(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    path = target(tmp_path / "draft")
    values = np.random.default_rng(7).normal(0.0, 0.02, (256, HIDDEN))
    values[9] = values[200] = values[4]
    save(path / WEIGHTS, {"model.embed_tokens.weight": ("BF16", (256, HIDDEN), bf16(values))})
    report = verify_source(f"{tmp_path}/draft", target=str(path), level=Level.DEEP).report
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("C121", Severity.NOTE)
    assert finding.message == "the target's embedding of mask token 4 is also that of 9, 200"
    assert report.exit_status == 0


def test_a_mask_beyond_the_rows_is_not_looked_up(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    edit_dflash(tmp_path / "draft", mask_token_id=250)
    target(tmp_path / "draft", rows=240)
    report = verify_source(f"{tmp_path}/draft", target=f"{tmp_path}/target", level=Level.DEEP).report
    assert codes(report) == {"C117"}


def test_special_tokens_are_found_by_the_text_of_tokenizer_config(tmp_path: Path) -> None:
    path = target(tmp_path / "draft", target_config(eos_token_id=None, pad_token_id=None))
    (path / "generation_config.json").unlink()
    (path / "tokenizer.json").unlink()
    decoder = {"4": {"content": "<|mask|>"}, "6": {"content": "<s>"}}
    settings = {"added_tokens_decoder": decoder, "bos_token": {"content": "<s>"}, "pad_token": "<|mask|>"}
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    found = opened(path)
    assert found.special_ids == {6: "bos", 4: "pad"}
    assert found.tokenizer_sha256 == ""


@pytest.mark.parametrize(
    "settings",
    [
        {"added_tokens_decoder": [1], "eos_token": 3},
        {"added_tokens_decoder": {"x": 1, "²": {"content": "a"}}},
    ],
)
def test_odd_settings_of_a_tokenizer_are_survived(tmp_path: Path, settings: dict[str, Any]) -> None:
    path = target(tmp_path / "draft")
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert opened(path).tokens == TOKENS


@pytest.mark.parametrize("text", ["[]", '{"added_tokens": 3}', '{"added_tokens": [1, {"id": "4"}]}'])
def test_an_odd_tokenizer_has_no_added_tokens(tmp_path: Path, text: str) -> None:
    path = target(tmp_path / "draft")
    (path / "tokenizer.json").write_text(text)
    found, _, findings = open_target(path, "target")
    assert found is not None
    assert found.tokens == {}
    assert [finding.code for finding in findings] == (["C110"] if text == "[]" else [])


def test_a_tokenizer_beyond_the_limit_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = target(tmp_path / "draft")
    monkeypatch.setattr(reader, "_TOKENIZER_LIMIT", 10)
    (finding,) = open_target(path, "target")[2]
    assert finding.message == "target/tokenizer.json: no JSON object of at most 10 bytes"


def test_a_tokenizer_that_is_named_and_not_there_stays_unchecked(tmp_path: Path) -> None:
    folder = tmp_path / "draft"
    good_draft(folder)
    good_recipe(folder)
    sha256 = f"tokenizer: {{sha256: {'0' * 64}, "
    edit_recipe(folder, "tokenizer: {", sha256, "recipes/targets/big.yaml")
    path = target(folder)
    zoo = find_zoo(tmp_path)

    def verified(named: str | None) -> set[str]:
        return codes(verify_recipe(zoo, "draft", checkpoint=str(folder), target=named).report) - {"R020"}

    assert verified(None) == {"R025"}
    assert verified(f"{path}/config.json") == {"R025"}
    assert verified(str(path)) == {"C112"}


def test_a_recipe_states_the_mask_text_that_the_target_has_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "draft"
    good_draft(folder)
    good_recipe(folder)
    edit_recipe(folder, "mask_token: {id: 4}", 'mask_token: {id: 4, text: "<|tool|>"}')
    edit_dflash(folder, mask_token="<|tool|>")
    target(folder)
    report = verify_recipe(
        find_zoo(tmp_path), "draft", checkpoint=str(folder), target=f"{tmp_path}/target"
    ).report
    (finding,) = [each for each in report.findings if each.code == "C120"]
    assert finding.message == '"<|tool|>" is token 3 of the target, the mask token is "4"'


def test_the_target_in_the_zoo_is_found_and_an_option_wins(tmp_path: Path) -> None:
    folder = tmp_path / "draft"
    good_draft(folder)
    good_recipe(folder)
    target(folder)
    edit_recipe(folder, "repo: example/big", "repo: ./target", "recipes/targets/big.yaml")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text(json.dumps(target_config(num_hidden_layers=5)))
    zoo = find_zoo(tmp_path)
    assert "C111" not in codes(verify_recipe(zoo, "draft", checkpoint=str(folder)).report)
    other = verify_recipe(zoo, "draft", checkpoint=str(folder), target=f"{tmp_path}/other").report
    assert {"C111", "C115"} <= codes(other)


def test_findings_about_the_target_name_the_line_of_the_target_file(tmp_path: Path) -> None:
    folder = tmp_path / "draft"
    good_draft(folder)
    good_recipe(folder)
    (target(folder) / "generation_config.json").write_text("{")
    report = verify_recipe(
        find_zoo(tmp_path), "draft", checkpoint=str(folder), target=f"{tmp_path}/target"
    ).report
    (finding,) = [each for each in report.findings if each.code == "C110"]
    assert finding.where.file == f"{tmp_path}/target/generation_config.json"
    assert [place.file for place in finding.related] == ["recipes/targets/big.yaml"]


@pytest.mark.parametrize("changes", [{"max_position_embeddings": None}, {"max_position_embeddings": 128}])
def test_a_draft_may_have_longer_contexts_than_its_target(tmp_path: Path, changes: dict[str, Any]) -> None:
    good_draft(tmp_path / "draft")
    target(tmp_path / "draft", target_config(**changes))
    assert codes(verify_source(f"{tmp_path}/draft", target=f"{tmp_path}/target").report) == set()


def test_rope_and_dtype_are_not_compared(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    edit_config(tmp_path / "draft", rope_theta=50000.0)
    target(tmp_path / "draft", target_config(rope_theta=1e6, torch_dtype="float32"))
    assert codes(verify_source(f"{tmp_path}/draft", target=f"{tmp_path}/target").report) == set()


@pytest.mark.parametrize(("ids", "wrong"), [([1, 2, 3], False), ([2, 3, 4], True), ([3, 4, 5], True)])
def test_speculators_counts_what_enters_a_layer(tmp_path: Path, ids: list[int], wrong: bool) -> None:
    found = opened(target(tmp_path / "draft"))
    layer = {"num_hidden_layers": 1, "hidden_size": HIDDEN, "vocab_size": 256}
    nested = {"speculators_model_type": "eagle3", "transformer_layer_config": layer}
    nested["eagle_aux_hidden_state_layer_ids"] = ids
    flat = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": ids},
    }
    for config, refused in ((flat, wrong), (nested, ids[-1] > 4)):
        checkpoint = Checkpoint("draft", tmp_path, {}, config, (), None, ())
        subject = Subject(recipe=None, checkpoint=checkpoint, target=found)
        assert bool(list(RULES["C116"].check(subject))) is refused


def test_the_command_takes_a_target(tmp_path: Path, run_zoo: Callable[..., Ran]) -> None:
    good_draft(tmp_path / "draft")
    target(tmp_path / "draft", target_config(num_hidden_layers=6))
    ran = run_zoo("verify", f"{tmp_path}/draft", "--target", f"{tmp_path}/target")
    assert ran.status == 1
    assert 'num_target_layers is "4", and the target has 6' in ran.out
    empty = run_zoo("verify", f"{tmp_path}/draft", "--target", "")
    assert empty.status == 2
    assert "--target is empty" in empty.err
    assert run_zoo("verify", "--all", "--target", "x").status == 2
    assert "--target" in run_zoo("verify", "--help").out
