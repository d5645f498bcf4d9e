"""Hazards of the draft itself: where its hidden states come from, and code in its config."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from zoo.engines.flags import has_flag
from zoo.engines.hazards.model import Hazard, profile_argv
from zoo.engines.sglang import algorithm
from zoo.recipe.model import Profile, Recipe

# P-EAGLE has no SGLang runtime (0.5.23).
_EAGLE = "eagle3"


def _no_layer_ids(recipe: Recipe, profile: Profile) -> bool:
    return recipe.checkpoint.family == _EAGLE and not recipe.draft.aux_ids


def _layer_ids(recipe: Recipe, profile: Profile) -> bool:
    return recipe.checkpoint.family == _EAGLE and bool(recipe.draft.aux_ids)


def _ids_only_inside(recipe: Recipe, profile: Profile) -> bool:
    """vLLM looks for them at the top level of config.json, where no recipe states them; harmless for a draft
    that was trained on the layers that vLLM takes by itself."""
    depth = recipe.target.layers
    return _layer_ids(recipe, profile) and recipe.draft.aux_ids != (1, depth // 2 - 1, depth - 4)


def _trusts_code(recipe: Recipe, profile: Profile) -> bool:
    return has_flag(profile_argv(recipe, profile), "--trust-remote-code")


def _trusts_code_of_a_draft(argv: list[str]) -> bool:
    return bool(algorithm(argv)) and has_flag(argv, "--trust-remote-code")


# A DFlash draft must state its layers (rules R017 and C), since there SGLang guesses too.
LAYERS_GUESSED = Hazard(
    code="E010",
    name="layer-ids-guessed",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_no_layer_ids,
    card=(
        "The config does not say which layers of the target the draft reads. SGLang takes the outputs of "
        "three of its own choice (layers 1, n/2 - 1 and n - 4 of n, counted from 0) and says nothing if the "
        "draft was trained on others."
    ),
    advice="state eagle_config.eagle_aux_hidden_state_layer_ids in config.json and draft.aux_layers.ids",
    source="sgl-project/sglang#21274; model_runner.py and models/llama.py of sglang 0.5.14 and 0.5.23",
)
LAYER_CONVENTION = Hazard(
    code="E011",
    name="layer-id-convention",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_layer_ids,
    card=(
        "Engines read EAGLE3 layer ids differently. To SGLang, id i in `eagle_config` is the output of layer "
        "i (counted from 0), but on DeepSeek-like targets (Kimi and GLM-4 MoE Lite too) that of layer i - 1, "
        "unless the first id is 1. vLLM does not look there by default; an id i at the top level of "
        "`config.json` is the output of layer i - 1 to it."
    ),
    advice="measure the accept length on the engine and target that you serve; nothing else shows it",
    source="sgl-project/sglang#25454; models/{llama,deepseek_v2}.py of sglang 0.5.14 and 0.5.23",
)
LAYERS_NOT_READ = Hazard(
    code="E040",
    name="layer-ids-not-read",
    engine="vllm",
    versions=SpecifierSet("==0.33.0"),
    applies=_ids_only_inside,
    card=(
        "vLLM does not read the layer ids in `eagle_config` by default. It takes the outputs of layers 1, "
        "n/2 - 1 and n - 4 of the target's n (counted from 0) and says nothing if the draft was trained on "
        "others."
    ),
    advice=(
        "serve with SGLang, or write the ids at the top level of config.json too, each one more than in "
        "eagle_config, and waive E040"
    ),
    source="v1/worker/gpu/spec_decode/eagle/eagle3_utils.py of vllm 0.33.0",
)
CONFIG_CODE = Hazard(
    code="E016",
    name="config-code-trusted",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_trusts_code,
    by_command=_trusts_code_of_a_draft,
    card=(
        "`--trust-remote-code` is for the target, but SGLang reads the draft's `config.json` with it too: an "
        "`auto_map` there would run its code on the server. Serve a revision that you have checked."
    ),
    advice="pin the draft's revision, or drop --trust-remote-code where the target does not need it",
    source="arg_groups/speculative_hook.py of sglang 0.5.14 and 0.5.23",
)
