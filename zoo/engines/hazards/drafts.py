"""Hazards of the draft itself: where its hidden states come from, and code in its config."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from zoo.engines.flags import has_flag
from zoo.engines.hazards.model import Hazard, profile_argv
from zoo.recipe.model import Profile, Recipe

# P-EAGLE has no SGLang runtime (0.5.23).
_EAGLE = "eagle3"


def _no_layer_ids(recipe: Recipe, profile: Profile) -> bool:
    return recipe.checkpoint.family == _EAGLE and not recipe.draft.aux_ids


def _layer_ids(recipe: Recipe, profile: Profile) -> bool:
    return recipe.checkpoint.family == _EAGLE and bool(recipe.draft.aux_ids)


def _trusts_code(recipe: Recipe, profile: Profile) -> bool:
    return has_flag(profile_argv(recipe, profile), "--trust-remote-code")


# A DFlash draft must state its layers (rules R017 and C), since there SGLang guesses too.
LAYERS_GUESSED = Hazard(
    code="E010",
    name="layer-ids-guessed",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_no_layer_ids,
    card=(
        "The config does not say which layers of the target the draft reads. SGLang takes three of its own "
        "choice (2, n/2 and n - 3) and says nothing if the draft was trained on others."
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
        "Engines read EAGLE3 layer ids differently. SGLang adds 1 to each, but for DeepSeek-like targets "
        "(Kimi and GLM-4 MoE Lite too) only if the first id is 1; vLLM takes them as they are."
    ),
    advice="measure the accept length on the engine and target that you serve; nothing else shows it",
    source="sgl-project/sglang#25454; models/{llama,deepseek_v2}.py of sglang 0.5.14 and 0.5.23",
)
CONFIG_CODE = Hazard(
    code="E016",
    name="config-code-trusted",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_trusts_code,
    card=(
        "`--trust-remote-code` is for the target, but SGLang reads the draft's `config.json` with it too: an "
        "`auto_map` there would run its code on the server. Serve a revision that you have checked."
    ),
    advice="pin the draft's revision, or drop --trust-remote-code where the target does not need it",
    source="arg_groups/speculative_hook.py of sglang 0.5.14 and 0.5.23",
)
