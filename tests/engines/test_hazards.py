"""Hazards and the rules of engine versions, on the kimi recipe with one thing changed."""
# ruff: noqa: F401, F811 - fixtures are imported, and named again as parameters

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from packaging.version import Version

from tests.card.conftest import edited, kimi, kimi_zoo
from zoo.engines.hardware import is_blackwell, is_sm100
from zoo.engines.hazards import HAZARDS, amplitudes, yarn_amplitude
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.results import Finding, Severity
from zoo.rules import RULES, Subject
from zoo.workspace import Zoo

ROPE = {"type": "yarn", "factor": 64, "mscale": 1.0, "mscale_all_dim": 1.0}
PROFILE = "profiles/sglang-0.5.14-b200x8.yaml"


def found(recipe: Recipe, code: str) -> list[Finding]:
    return list(RULES[code].check(Subject(recipe=recipe, checkpoint=None)))


def threats(recipe: Recipe) -> list[str]:
    """The codes of the hazards that apply to the recipe's first profile."""
    return [code for code, hazard in HAZARDS.items() if hazard.threatens(recipe, recipe.profiles[0])]


@pytest.fixture
def with_profile(kimi_zoo: Zoo) -> Callable[..., Recipe]:
    """The recipe after replacing texts in its profile."""

    def load(*pairs: tuple[str, str]) -> Recipe:
        path = kimi_zoo.recipes / PROFILE
        text = path.read_text()
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text)
        return usable_recipe(kimi_zoo, "kimi-ft-v3")

    return load


@pytest.mark.parametrize(
    ("rope", "engine", "version", "expected"),
    [
        (ROPE, "sglang", "0.5.14", 1.4159),
        (ROPE, "sglang", "0.5.15.post1", 1.4159),
        (ROPE, "sglang", "0.5.16", 1.0),
        (ROPE, "sglang", "0.5.23", 1.0),
        (ROPE, "transformers", None, 1.0),
        ({**ROPE, "mscale": 0.707, "mscale_all_dim": 1.0}, "sglang", "0.5.23", 1.29404 / 1.41589),
        ({"type": "yarn", "factor": 64}, "sglang", "0.5.23", 1.4159),
        ({"type": "yarn", "factor": 64}, "transformers", None, 1.4159),
        ({"type": "yarn", "factor": 64, "mscale": 1.0}, "sglang", "0.5.23", 1.4159),
        ({**ROPE, "attention_factor": 1.5}, "transformers", None, 1.5),
        ({**ROPE, "attention_factor": 1.5}, "sglang", "0.5.23", 1.0),
        ({**ROPE, "attn_factor": 2.0}, "sglang", "0.5.23", 2.0),
        ({"type": "yarn", "factor": 1}, "sglang", "0.5.14", 1.0),
        ({"type": "default"}, "sglang", "0.5.14", 1.0),
        (ROPE, "vllm", "0.33.0", 1.0),
        ({"type": "yarn", "factor": 64}, "vllm", "0.33.0", 1.4159),
        ({**ROPE, "attention_factor": 1.5}, "vllm", "0.33.0", 1.5),
        ({**ROPE, "attn_factor": 2.0}, "vllm", "0.33.0", 1.0),
        ({"type": "default"}, "vllm", "0.33.0", 1.0),
    ],
)
def test_the_yarn_amplitude_is_the_one_that_the_engine_uses(
    rope: dict[str, Any], engine: str, version: str | None, expected: float
) -> None:
    amplitude = yarn_amplitude(rope, engine, Version(version) if version else None)
    assert amplitude == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("version", ["0.5.14", "0.5.23"])
@pytest.mark.parametrize(
    ("rope", "expected"),
    [
        (ROPE, 1.0),
        ({"type": "yarn", "factor": 64}, 1.4159),
        ({"type": "yarn", "factor": 64, "mscale": 0.5}, 1.20794),
        ({**ROPE, "attn_factor": 2.0}, 2.0),
        ({"type": "linear", "factor": 64}, 1.4159),
        ({"type": "default"}, 1.0),
    ],
)
def test_latent_attention_has_the_yarn_of_deepseek_in_every_version(
    rope: dict[str, Any], expected: float, version: str
) -> None:
    amplitude = yarn_amplitude(rope, "sglang", Version(version), latent=True)
    assert amplitude == pytest.approx(expected, abs=5e-5)


def test_the_amplitude_of_a_draft_with_latent_attention_does_not_depend_on_the_version(edited: Any) -> None:
    def change(data: dict[str, Any]) -> None:
        data["draft"]["config"]["architectures"] = ["Eagle3DeepseekV2ForCausalLM"]
        data["draft"]["rope"]["amplitude_as_trained"] = 1.0

    recipe = edited(change)
    assert "E001" not in threats(recipe)
    assert found(recipe, "E001") == found(recipe, "E004") == []
    assert amplitudes(recipe) == {"SGLang": 1.0, "vLLM 0.33.0": 1.0, "transformers": 1.0}


def test_vllm_reads_both_keys_of_latent_attention_and_no_attn_factor() -> None:
    version = Version("0.33.0")
    assert yarn_amplitude({**ROPE, "attn_factor": 2.0}, "vllm", version, latent=True) == pytest.approx(1.0)
    only_one = {"type": "yarn", "factor": 64, "mscale": 0.5}
    assert yarn_amplitude(only_one, "vllm", version, latent=True) == pytest.approx(1.20794, abs=5e-5)


def test_the_amplitude_of_a_vllm_profile_is_judged(kimi: Recipe) -> None:
    profile = replace(kimi.profiles[0], engine="vllm", version=Version("0.33.0"))
    rope = {**kimi.draft.rope, "attention_factor": 1.4159}
    for stated, served in ((kimi.draft.rope, "1"), (rope, "1.4159")):
        draft = replace(kimi.draft, rope=stated, amplitude_as_trained=1.2)
        recipe = replace(kimi, profiles=(profile,), draft=draft)
        assert "E001" in threats(recipe)
        (finding,) = found(recipe, "E004")
        assert f"vLLM 0.33.0 scales cos and sin by {served}, but" in finding.message
        assert not any("caveat E001" in each.message for each in found(recipe, "E005"))


def test_an_engine_whose_source_nobody_read_has_no_known_amplitude() -> None:
    assert yarn_amplitude(ROPE, "vllm", Version("0.20.0")) is None


def test_eight_hazards_threaten_kimi_and_only_the_first_is_a_warning(kimi: Recipe) -> None:
    assert threats(kimi) == ["E001", "E002", "E003", "E008", "E009", "E016", "E017", "E018"]
    assert [caveat.code for caveat in kimi.caveats if caveat.code] == threats(kimi)
    codes = [code for code in RULES if code.startswith("E") and found(kimi, code)]
    assert codes == ["E001"]
    (finding,) = found(kimi, "E001")
    assert "scales cos and sin by 1.4159; the amplitude in training is unknown" in finding.message
    assert RULES["E001"].severity is Severity.WARNING
    assert finding.where.line
    assert finding.related[0].file == f"recipes/{PROFILE}"


def test_an_amplitude_that_agrees_is_said_and_one_that_differs_is_an_error(edited: Any) -> None:
    agrees = edited(lambda data: data["draft"]["rope"].update(amplitude_as_trained=1.4159))
    assert "which is the amplitude in training" in found(agrees, "E001")[0].message
    assert found(agrees, "E004") == []
    differs = edited(lambda data: data["draft"]["rope"].update(amplitude_as_trained=1.0))
    assert "trained with 1" in found(differs, "E001")[0].message
    assert (
        "scales cos and sin by 1.4159, but the draft was trained with 1" in found(differs, "E004")[0].message
    )


def test_a_rope_without_mscale_has_one_amplitude_for_all(edited: Any) -> None:
    def change(data: dict[str, Any]) -> None:
        del data["draft"]["rope"]["mscale"], data["draft"]["rope"]["mscale_all_dim"]

    recipe = edited(change)
    assert found(recipe, "E001") == []
    assert (
        "caveat E001 (SGLang, all versions; vLLM ==0.33.0) applies to none of the profiles"
        in found(recipe, "E005")[0].message
    )


@pytest.mark.parametrize("dtype", ["fp8_e4m3", "auto"])
def test_an_fa4_draft_on_a_kv_cache_that_is_not_bf16_is_an_error(with_profile: Any, dtype: str) -> None:
    recipe = with_profile(("--kv-cache-dtype bf16", f"--kv-cache-dtype={dtype}"))
    (finding,) = found(recipe, "E002")
    assert f'--kv-cache-dtype is "{dtype}"' in finding.message
    assert finding.where.pointer == "/args/6"


def test_an_fa4_draft_without_a_kv_dtype_is_an_error_beside_a_quantized_target(with_profile: Any) -> None:
    recipe = with_profile(("  - --kv-cache-dtype bf16\n", ""))
    assert "--kv-cache-dtype is not set" in found(recipe, "E002")[0].message


@pytest.mark.parametrize(
    "pairs",
    [
        [("--kv-cache-dtype bf16", "--kv-cache-dtype bfloat16")],
        [("--kv-cache-dtype bf16", "--kv-cache-dtype fp8_e4m3"), ("backend fa4", "backend triton")],
        [("--kv-cache-dtype bf16", "--kv-cache-dtype fp8_e4m3"), ("sglang==0.5.14", "sglang==0.5.16")],
    ],
    ids=["bfloat16", "another backend", "a later engine"],
)
def test_the_kv_rule_does_not_fire_on(with_profile: Any, pairs: list[tuple[str, str]]) -> None:
    assert found(with_profile(*pairs), "E002") == []


def test_a_later_engine_makes_the_kv_caveat_empty(with_profile: Any) -> None:
    recipe = with_profile(("sglang==0.5.14", "sglang==0.5.16"))
    assert ["E002" in finding.message for finding in found(recipe, "E005")] == [True]


def test_quantization_is_an_error_unless_the_draft_opts_out(with_profile: Any) -> None:
    recipe = with_profile(("  - --tp 8", "  - --tp 8\n  - --quantization modelopt_fp4"))
    (finding,) = found(recipe, "E003")
    assert '--quantization "modelopt_fp4" also quantizes the draft' in finding.message
    assert finding.where.pointer == "/args/13"
    cured = with_profile(("  - --tp 8", "  - --tp 8\n  - --speculative-draft-model-quantization unquant"))
    assert found(cured, "E003") == []


def test_a_caveat_of_a_hazard_that_does_not_exist_is_an_error(edited: Any) -> None:
    recipe = edited(lambda data: data["caveats"].append("E999"))
    assert "there is no hazard E999" in found(recipe, "E006")[0].message


def test_a_hazard_that_no_caveat_mentions_is_a_warning_and_still_on_the_card(
    edited: Any,
    kimi_zoo: Zoo,
) -> None:
    from zoo.card.render import render_card

    recipe = edited(lambda data: data["caveats"].remove("E002"))
    (finding,) = found(recipe, "E007")
    assert "hazard E002 (fa4-needs-bf16-kv)" in finding.message
    assert "A bf16 KV cache is required" in render_card(kimi_zoo, recipe)


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        ("0.5.14", {"E008", "E009"}),
        ("0.5.16", {"E008", "E009"}),
        ("0.5.17", {"E009"}),
        ("0.5.18", set()),
        ("0.5.23", set()),
    ],
)
def test_each_kind_of_request_is_refused_up_to_its_own_version(
    with_profile: Any, version: str, refused: set[str]
) -> None:
    recipe = with_profile(("sglang==0.5.14", f"sglang=={version}"))
    assert {"E008", "E009"} & set(threats(recipe)) == refused


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("  - --trust-remote-code\n", "", "E016"),
        ("  - --tp 8", "  - --tp 8\n  - --max-running-requests 64", "E017"),
        ("  - --attention-backend trtllm_mla\n", "", "E018"),
    ],
)
def test_a_hazard_goes_away_with_its_argument(with_profile: Any, old: str, new: str, code: str) -> None:
    recipe = with_profile((old, new))
    assert code not in threats(recipe)
    assert [finding.message.split()[1] for finding in found(recipe, "E005")] == [code]


def of_family(recipe: Recipe, family: str, aux_ids: tuple[int, ...]) -> Recipe:
    return replace(
        recipe,
        checkpoint=replace(recipe.checkpoint, family=family),
        draft=replace(recipe.draft, aux_ids=aux_ids, block_size=None, mask_token_id=None),
    )


@pytest.mark.parametrize(
    ("family", "aux_ids", "expected"),
    [("eagle3", (), {"E010"}), ("eagle3", (1, 29, 57), {"E011"}), ("peagle", (1, 29, 57), set())],
)
def test_an_eagle3_draft_has_the_hazards_of_its_layer_ids(
    kimi: Recipe, family: str, aux_ids: tuple[int, ...], expected: set[str]
) -> None:
    recipe = of_family(kimi, family, aux_ids)
    assert set(threats(recipe)) == {"E001", "E002", "E003", "E016", "E017", "E018"} | expected


@pytest.mark.parametrize("family", ["dflash", "dflash2", "domino", "dspark"])
def test_every_family_of_blocks_refuses_the_same_requests(kimi: Recipe, family: str) -> None:
    recipe = replace(kimi, checkpoint=replace(kimi.checkpoint, family=family))
    assert {"E008", "E009"} <= set(threats(recipe))


@pytest.mark.parametrize("key", ["attn_factor", "attention_factor"])
def test_a_stated_factor_is_not_portable(edited: Any, key: str) -> None:
    recipe = edited(lambda data: data["draft"]["rope"].update({key: 1.2}))
    assert "E014" in threats(recipe)


@pytest.mark.parametrize(
    ("target", "argument", "beyond"),
    [
        (None, "", False),
        (262144, "", False),
        (262145, "", True),
        (None, "\n  - --context-length 300000", True),
        (1_000_000, "\n  - --context-length 131072", False),
    ],
)
def test_positions_beyond_those_of_the_draft_are_a_hazard(
    with_profile: Any, target: int | None, argument: str, beyond: bool
) -> None:
    recipe = with_profile(("  - --tp 8", "  - --tp 8" + argument))
    recipe = replace(recipe, target=replace(recipe.target, max_position_embeddings=target))
    assert ("E019" in threats(recipe)) == beyond


def test_yarn_covers_its_original_positions_times_its_factor(edited: Any) -> None:
    recipe = edited(lambda data: data["draft"]["config"].update(max_position_embeddings=4096))
    recipe = replace(recipe, target=replace(recipe.target, max_position_embeddings=262144))
    assert "E019" not in threats(recipe)


@pytest.mark.parametrize(("gpu", "fallback"), [("B200", False), ("MI300X", True), ("X9000", False)])
def test_sampling_falls_back_to_greedy_where_there_is_no_cuda(
    with_profile: Any, gpu: str, fallback: bool
) -> None:
    assert ("E013" in threats(with_profile(("gpu: B200", f"gpu: {gpu}")))) == fallback


@pytest.mark.parametrize(
    ("gpu", "sm100", "blackwell"),
    [
        ("B200", True, True),
        ("NVIDIA GB300", True, True),
        ("RTX PRO 6000", False, True),
        ("RTX 5090", False, True),
        ("H200", False, False),
        ("GH200", False, False),
        ("A100-SXM4-80GB", False, False),
        ("RTX 4090", False, False),
        ("L40S", False, False),
        ("MI355X", False, False),
        ("X9000", None, None),
        ("GB10", None, None),
    ],
)
def test_a_gpu_is_judged_by_its_name_or_not_at_all(
    gpu: str, sm100: bool | None, blackwell: bool | None
) -> None:
    assert (is_sm100(gpu), is_blackwell(gpu)) == (sm100, blackwell)


@pytest.mark.parametrize("code", [f"E00{n}" for n in range(1, 8)])
def test_every_rule_is_documented_under_the_fixed_headings(code: str) -> None:
    sections = RULES[code].sections
    assert {"What it does", "Why is this bad", "Example", "Use instead", "Since"} <= set(sections)


def test_importing_the_rules_imports_no_template_engine_no_numpy_and_no_hub_client() -> None:
    program = (
        "import sys, zoo.rules, zoo.rules.card, zoo.rules.engine; "
        "print([name for name in ('jinja2', 'numpy', 'huggingface_hub', 'torch') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
