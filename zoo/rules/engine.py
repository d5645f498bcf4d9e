"""E: what an engine version makes of the draft and of the launch arguments (``zoo.engines.hazards``)."""

from __future__ import annotations

from collections.abc import Iterator

from zoo.engines.flags import flag_value, has_flag
from zoo.engines.hazards import BF16, HAZARDS, Hazard, served_amplitude
from zoo.printable import quoted
from zoo.recipe.model import UNKNOWN, Profile, Recipe
from zoo.recipe.validate import did_you_mean
from zoo.results import Finding, Severity
from zoo.rules.profiles import argument, commands, engine_of, label
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_SAME = 1e-3  # two amplitudes that agree to three digits: card and manifest print four (1.4159)


@rule("E001", "yarn-amplitude", severity=Severity.WARNING, needs=("recipe", "profiles"))
def yarn_amplitude_depends_on_version(subject: Subject) -> Iterator[Finding]:
    """The YaRN amplitude depends on the engine version.

    What it does: Looks for YaRN rope with mscale and mscale_all_dim, which SGLang before 0.5.16 ignores
    (later ones and vLLM 0.33.0 do not), and says which amplitude (the factor on cos and sin) each declared
    profile will use.
    Why is this bad: With factor 64 and both keys 1.0 the older reading is 0.1 ln(64) + 1 = 1.4159, the newer
    one 1.0. The draft then attends with other logits than in training and loses accept length, and nothing
    reports it.
    Example: rope: {type: yarn, factor: 64, mscale: 1.0, mscale_all_dim: 1.0, amplitude_as_trained: unknown}
    Use instead: The same keys with amplitude_as_trained measured in the training code, and the engine version
    pinned. An explicit attention_factor is no cure: SGLang does not read it.
    Sources: sgl-project/sglang#31232, sgl-project/sglang#22711; sglang wheels 0.5.15.post1 and 0.5.16,
    layers/rotary_embedding/factory.py; vllm 0.33.0, layers/rotary_embedding/yarn_scaling_rope.py
    Since: 0.1.0
    """
    recipe = _recipe(subject)
    for profile in _threatened(recipe, HAZARDS["E001"]):
        served = served_amplitude(recipe, profile.engine, profile.version)
        if served is None:
            continue
        trained = recipe.draft.amplitude_as_trained
        if trained is None or trained == UNKNOWN:
            verdict = "the amplitude in training is unknown"
            hint = "state draft.rope.amplitude_as_trained, and measure before changing the engine version"
        elif _differ(trained, served):
            verdict = f"the draft was trained with {trained:.5g}"
            hint = "see E004"
        else:
            verdict = "which is the amplitude in training"
            hint = "keep the engine version pinned: other versions read another amplitude"
        yield Finding(
            f"{label(profile)}: {engine_of(profile)} scales cos and sin by {served:.5g}; {verdict}",
            hint,
            recipe.where("/draft/rope/amplitude_as_trained"),
            (profile.where("/engine"),),
        )


@rule("E002", "fa4-needs-bf16-kv", needs=("profiles",))
def fa4_draft_without_bf16_kv(subject: Subject) -> Iterator[Finding]:
    """A profile runs the draft with fa4 on a KV cache that is not bf16.

    What it does: For SGLang before 0.5.16, looks for draft attention fa4 beside a --kv-cache-dtype other than
    bf16 (or none at all beside a quantized target, whose own config may turn auto into fp8).
    Why is this bad: The draft worker inherits the global KV dtype, and its fa4 kernel asserts bf16 q/k/v.
    Example: --speculative-draft-attention-backend fa4 --kv-cache-dtype fp8_e4m3
    Use instead: --speculative-draft-attention-backend fa4 --kv-cache-dtype bf16
    Sources: sgl-project/sglang#29218 (in 0.5.16: the fa4 draft gets its own KV dtype)
    Since: 0.1.0
    """
    recipe = subject.recipe
    for profile, argv in commands(subject, "sglang"):
        if not HAZARDS["E002"].threatens(recipe, profile):
            continue
        dtype = flag_value(argv, "--kv-cache-dtype")
        unset = dtype is None or dtype == "auto"
        if dtype in BF16 or (unset and (recipe is None or not recipe.target.quantization)):
            continue
        stated = "is not set" if dtype is None else f"is {quoted(dtype, 40)}"
        yield Finding(
            f"{label(profile)}: --kv-cache-dtype {stated}, but in {engine_of(profile)} the fa4 draft "
            "needs bf16",
            "pass --kv-cache-dtype bf16",
            argument(profile, "--kv-cache-dtype", "--speculative-draft-attention-backend"),
        )


@rule("E003", "quantization-inherited", needs=("profiles",))
def quantization_is_inherited(subject: Subject) -> Iterator[Finding]:
    """A profile passes --quantization, which the unquantized draft inherits.

    What it does: Looks for --quantization without --speculative-draft-model-quantization.
    Why is this bad: SGLang copies the target's server args for the draft worker. An explicit modelopt_fp4
    makes it quantize the bf16 draft on the fly, or fail to load it.
    Example: --quantization modelopt_fp4
    Use instead: No --quantization (the target's own config says it), or add
    --speculative-draft-model-quantization unquant
    Sources: sglang 0.5.14 and 0.5.23, server_args.py: an unset draft quantization becomes the target's
    Since: 0.1.0
    """
    packed = subject.drafted is not None and "quantization_config" in subject.drafted.config
    for profile, argv in commands(subject, "sglang"):
        method = flag_value(argv, "--quantization")
        own = flag_value(argv, "--speculative-draft-model-quantization")
        drafts = subject.recipe is not None or has_flag(argv, "--speculative-draft-model-path")
        if method in (None, "unquant") or own is not None or packed or not drafts:
            continue
        yield Finding(
            f"{label(profile)}: --quantization {quoted(method or '', 40)} also quantizes the draft",
            "drop it, or add --speculative-draft-model-quantization unquant",
            argument(profile, "--quantization"),
        )


@rule("E004", "yarn-amplitude-contradicted", needs=("recipe", "profiles"))
def trained_with_another_amplitude(subject: Subject) -> Iterator[Finding]:
    """A profile's engine uses another YaRN amplitude than the draft was trained with.

    What it does: Compares draft.rope.amplitude_as_trained with what the engine of each declared profile
    reads.
    Why is this bad: The draft serves below what it was trained to do, and nothing reports it.
    Example: amplitude_as_trained: 1.0, served by sglang==0.5.14, which reads 1.4159 from the same keys
    Use instead: An engine version that reads the trained amplitude, or a draft that is trained with this one
    Sources: sgl-project/sglang#31232; sglang, layers/rotary_embedding/factory.py; vllm 0.33.0,
    layers/rotary_embedding/yarn_scaling_rope.py
    Since: 0.1.0
    """
    recipe = _recipe(subject)
    trained = recipe.draft.amplitude_as_trained
    if trained is None or trained == UNKNOWN:
        return
    for profile in recipe.profiles:
        served = served_amplitude(recipe, profile.engine, profile.version)
        if served is not None and _differ(trained, served):
            yield Finding(
                f"{label(profile)}: {engine_of(profile)} scales cos and sin by {served:.5g}, but the "
                f"draft was trained with {trained:.5g}",
                "serve with a version that reads the trained amplitude",
                recipe.where("/draft/rope/amplitude_as_trained"),
                (profile.where("/engine"),),
            )


@rule("E005", "caveat-does-not-apply", severity=Severity.WARNING, needs=("recipe",))
def caveat_does_not_apply(subject: Subject) -> Iterator[Finding]:
    """A caveat names a hazard that does not apply to any declared profile.

    What it does: Compares the hazard codes under caveats with the engine versions and arguments of the
    profiles.
    Why is this bad: The card warns of something that cannot happen, and readers learn to skip its warnings.
    Example: caveats: [E002], where every profile runs sglang==0.5.23
    Use instead: No such caveat
    Since: 0.1.0
    """
    recipe = _recipe(subject)
    for index, caveat in enumerate(recipe.caveats):
        hazard = HAZARDS.get(caveat.code)
        if hazard is not None and not _threatened(recipe, hazard):
            where = recipe.where(f"/caveats/{index}")
            message = f"caveat {hazard.code} ({hazard.range}) applies to none of the profiles"
            yield Finding(message, "remove it", where)


@rule("E006", "caveat-unknown", needs=("recipe",))
def caveat_is_unknown(subject: Subject) -> Iterator[Finding]:
    """A caveat names a hazard that does not exist.

    What it does: Looks up every code under caveats.
    Why is this bad: The card would lose the sentence that the author meant.
    Example: caveats: [E01]
    Use instead: caveats: [E001], or a sentence: {text: ...}
    Since: 0.1.0
    """
    recipe = _recipe(subject)
    for index, caveat in enumerate(recipe.caveats):
        if caveat.code and caveat.code not in HAZARDS:
            hint = did_you_mean(caveat.code, HAZARDS).strip() or f"hazards are: {', '.join(HAZARDS)}"
            yield Finding(f"there is no hazard {caveat.code}", hint, recipe.where(f"/caveats/{index}"))


@rule("E007", "hazard-not-mentioned", severity=Severity.WARNING, needs=("recipe",))
def hazard_is_not_mentioned(subject: Subject) -> Iterator[Finding]:
    """A hazard applies to a declared profile, and the caveats do not mention it.

    What it does: Compares the hazards of the profiles' engines with the codes under caveats.
    Why is this bad: Somebody will change the command and run into it. The card shows the hazard all the same,
    but nobody has decided that it belongs there.
    Example: A profile with sglang==0.5.14 and fa4, and no E002 under caveats
    Use instead: caveats: [E002]
    Since: 0.1.0
    """
    recipe = _recipe(subject)
    mentioned = {caveat.code for caveat in recipe.caveats}
    for hazard in HAZARDS.values():
        threatened = _threatened(recipe, hazard)
        if threatened and hazard.code not in mentioned:
            names = ", ".join(profile.name for profile in threatened)
            yield Finding(
                f"hazard {hazard.code} ({hazard.name}) applies to {names}, and no caveat mentions it",
                f"add {hazard.code} to caveats; {hazard.advice}",
                recipe.where("/caveats"),
                tuple(profile.where("/engine") for profile in threatened),
            )


def _recipe(subject: Subject) -> Recipe:
    assert subject.recipe is not None
    return subject.recipe


def _threatened(recipe: Recipe, hazard: Hazard) -> tuple[Profile, ...]:
    return tuple(profile for profile in recipe.profiles if hazard.threatens(recipe, profile))


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > _SAME * max(one, other)
