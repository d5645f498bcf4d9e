"""E020 to E023: what rules make of readings, with a recipe and without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.corpus.families import Draft, dflash2, domino, dspark, eagle3, peagle, recipe, write
from tests.corpus.kit import edit_dflash, good_draft
from zoo.results import Outcome, Report
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo

OLD, NEW, VLLM = ("sglang", "0.5.14"), ("sglang", "0.5.23"), ("vllm", "0.33.0")


def found(report: Report) -> dict[str, list[str]]:
    """Code -> messages, of the findings about readings."""
    listed: dict[str, list[str]] = {}
    for finding in report.findings:
        if "E020" <= finding.code <= "E029" or finding.code in ("E040", "E041"):
            listed.setdefault(finding.code, []).append(finding.message)
    return listed


def outcome(report: Report, code: str) -> Outcome:
    return next(result.outcome for result in report.results if result.code == code)


def named(draft: Draft) -> Draft:
    return Draft(draft.family, draft.config | {"architectures": ["DFlashDraftModel"]}, draft.tensors)


def test_without_recipe_and_engine_nothing_is_judged(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    report = verify_source(str(tmp_path / "draft")).report
    for code in ("E020", "E021", "E022"):
        assert outcome(report, code) is Outcome.NOT_CHECKED
    assert report.exit_status == 0


def test_a_named_engine_judges_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "draft", named(domino()))
    report = verify_source(str(tmp_path / "draft"), engines=(OLD,)).report
    said = "SGLang 0.5.14 ignores 4 tensors of this draft: the Domino projector"
    assert found(report) == {"E020": [said]}
    assert found(verify_source(str(tmp_path / "draft"), engines=(NEW,)).report) == {}


def test_a_refusal_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "draft", dflash2())
    report = verify_source(str(tmp_path / "draft"), engines=(OLD, NEW)).report
    said = "SGLang 0.5.14 refuses this draft: it does not know the architecture DFlash2DraftModel"
    assert found(report) == {"E022": [said]}


@pytest.mark.parametrize("engine", [OLD, NEW, VLLM])
def test_what_the_inventory_reports_is_not_said_twice(tmp_path: Path, engine: tuple[str, str]) -> None:
    def broken(change: Any) -> set[str]:
        folder = tmp_path / f"draft{len(list(tmp_path.iterdir()))}"
        draft = dflash2() if engine != OLD else named(domino())
        change(draft.tensors)
        write(folder, draft)
        report = verify_source(str(folder), engines=(engine,)).report
        return {finding.code for finding in report.findings} - ({"E020"} if engine == OLD else set())

    assert broken(lambda tensors: tensors.pop("norm.weight")) == {"I001"}
    assert broken(lambda tensors: tensors.update(other=tensors["norm.weight"])) == {"I002"}


def test_a_recipe_is_judged_by_its_profiles_not_by_the_engine_that_is_named(tmp_path: Path) -> None:
    draft = dflash2()
    write(tmp_path / "draft", draft)
    recipe(tmp_path / "draft", draft)
    zoo = find_zoo(tmp_path)
    report = verify_recipe(zoo, "draft", checkpoint=str(tmp_path / "draft"), engines=(OLD,)).report
    assert found(report) == {}
    assert outcome(report, "E022") is Outcome.PASSED


def test_a_recipe_needs_no_checkpoint_to_be_judged(tmp_path: Path) -> None:
    recipe(tmp_path / "draft", dspark())
    report = verify_recipe(find_zoo(tmp_path), "draft").report
    assert list(found(report)) == ["E022"]
    finding = next(each for each in report.findings if each.code == "E022")
    assert "stands only in dflash_config" in finding.message
    assert finding.where.file == "recipes/profiles/one-gpu.yaml"


@pytest.mark.parametrize(
    ("draft", "engine", "hint"),
    [
        (dflash2(), OLD, "serve it with SGLang 0.5.23 or vLLM 0.33.0, which start with it"),
        (domino(), NEW, 'write "architectures": ["DFlashDraftModel"]'),
        (dspark(), NEW, "copy markov_rank, markov_head_type and the other keys of the head to the top level"),
        (peagle(), VLLM, "convert it to the nested layout of speculators"),
    ],
)
def test_a_refusal_says_what_to_do(tmp_path: Path, draft: Draft, engine: tuple[str, str], hint: str) -> None:
    write(tmp_path / "draft", draft)
    report = verify_source(str(tmp_path / "draft"), engines=(engine,)).report
    (finding,) = (each for each in report.findings if each.code == "E022")
    assert finding.hint.startswith(hint)


def test_a_draft_that_some_engine_starts_with_is_no_warning_and_one_that_none_does_names_the_cure(
    tmp_path: Path,
) -> None:
    write(tmp_path / "served", dflash2())
    write(tmp_path / "named", domino())
    assert "C102" not in codes(verify_source(str(tmp_path / "served")).report)
    report = verify_source(str(tmp_path / "named")).report
    (finding,) = (each for each in report.findings if each.code == "C102")
    assert finding.message.startswith(
        "none of SGLang 0.5.14 and 0.5.23 and vLLM 0.33.0 starts with this draft"
    )
    assert "DFlashDraftModel" in finding.hint
    assert report.exit_status == 0


def test_vllm_does_not_read_the_layer_ids_of_an_eagle3_draft(tmp_path: Path) -> None:
    draft = eagle3()
    write(tmp_path / "draft", draft)
    (said,) = found(verify_source(str(tmp_path / "draft"), engines=(VLLM,)).report)["E040"]
    assert said == (
        "vLLM 0.33.0 does not read the layer ids 0, 1, 2 of this draft, and taps others of its own choice"
    )
    assert found(verify_source(str(tmp_path / "draft"), engines=(OLD, NEW)).report) == {}
    draft.config["eagle_aux_hidden_state_layer_ids"] = [1, 2, 3]
    write(tmp_path / "both", draft)
    report = verify_source(str(tmp_path / "both"), engines=(OLD, NEW, VLLM)).report
    assert found(report) == {}
    assert "C012" not in codes(report)


def test_a_window_that_an_engine_does_not_read(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    edit_dflash(tmp_path / "draft", use_swa=True, swa_window_size=64)
    report = verify_source(str(tmp_path / "draft"), engines=(OLD, NEW, VLLM)).report
    said = 'never looks at dflash_config.use_swa, which is "True"'
    assert found(report) == {"E041": [f"SGLang 0.5.14 {said}", f"SGLang 0.5.23 {said}"]}
    edit_dflash(tmp_path / "draft", use_swa=False)
    assert found(verify_source(str(tmp_path / "draft"), engines=(OLD,)).report) == {}


def test_the_amplitude_of_a_draft_with_latent_attention_is_one_for_all(tmp_path: Path) -> None:
    keys = {"factor": 4, "original_max_position_embeddings": 128, "mscale": 1.0, "mscale_all_dim": 1.0}
    for name in ("LlamaForCausalLMEagle3", "Eagle3DeepseekV2ForCausalLM", "K3DSparkModel"):
        draft = eagle3()
        draft.config.update(architectures=[name], rope_scaling={"rope_type": "yarn", **keys})
        write(tmp_path / name, draft)
        report = verify_source(str(tmp_path / name)).report
        assert ("C104" in codes(report)) == (name == "LlamaForCausalLMEagle3")


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings}


MUSE = {"architectures": ["DFlashMuseGlimmerAssistantModel"]}
QUANTIZED = {"quantization_config": {"quant_method": "fp8"}}


@pytest.mark.parametrize("changes", [MUSE, QUANTIZED])
def test_a_draft_that_nobody_has_read_has_not_passed(tmp_path: Path, changes: dict[str, Any]) -> None:
    good_draft(tmp_path / "draft", **changes)
    report = verify_source(str(tmp_path / "draft"), engines=(OLD,)).report
    for code in ("E020", "E021", "E022", "E042"):
        assert outcome(report, code) is Outcome.NOT_CHECKED
        reason = next(result.reason for result in report.results if result.code == code)
        assert "SGLang 0.5.14: nobody has read" in (reason or "")
    assert report.exit_status in (1, 2)


def test_a_named_engine_that_was_not_read_is_exit_2_and_silent_without_it(tmp_path: Path) -> None:
    draft = eagle3()
    write(tmp_path / "draft", Draft(draft.family, draft.config | QUANTIZED, draft.tensors))
    codes = {finding.code for finding in verify_source(str(tmp_path / "draft")).report.findings}
    report = verify_source(str(tmp_path / "draft"), engines=(OLD, VLLM)).report
    assert {finding.code for finding in report.findings} == codes
    assert outcome(report, "E022") is Outcome.NOT_CHECKED


def test_the_engine_that_was_read_is_judged_beside_one_that_was_not(tmp_path: Path) -> None:
    write(tmp_path / "draft", named(domino()))
    config = {"architectures": ["DFlashMuseGlimmerAssistantModel", "DFlashDraftModel"]}
    draft = named(domino())
    write(tmp_path / "draft", Draft(draft.family, draft.config | config, draft.tensors))
    report = verify_source(str(tmp_path / "draft"), engines=(OLD,)).report
    assert outcome(report, "E020") is Outcome.FAILED


def test_what_an_engine_serves_wrongly_is_an_error(tmp_path: Path) -> None:
    draft = eagle3()
    block = draft.config["eagle_config"] | {"use_aux_hidden_state": False}
    write(tmp_path / "draft", Draft(draft.family, draft.config | {"eagle_config": block}, draft.tensors))
    report = verify_source(str(tmp_path / "draft"), engines=(OLD,)).report
    assert outcome(report, "E042") is Outcome.FAILED
    assert outcome(report, "E043") is Outcome.PASSED
    alone = verify_source(str(tmp_path / "draft")).report
    assert outcome(alone, "E043") is Outcome.FAILED
