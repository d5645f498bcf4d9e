"""R030 to R039 and C101: recipe and config.json against the training manifest, the only witness of the
training run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zoo.drafts.keys import Keys, Stated
from zoo.printable import quoted
from zoo.recipe.config import config_of, recipe_pointer
from zoo.recipe.model import UNKNOWN
from zoo.results import Finding, Severity, Where
from zoo.rules.config import CONFIG, place, same
from zoo.rules.registry import reported, rule
from zoo.rules.subject import Subject

_ITERATION = re.compile(r"iter_0*([0-9]{1,12})")


@rule("R024", "iteration-name", needs=("recipe",))
def iteration_name(subject: Subject) -> Iterable[Finding]:
    """The step of the export does not fit the name of the training checkpoint.

    What it does: for a checkpoint called iter_N, the step must be N - 1.
    Why is this bad: one of the two names another checkpoint than the one that was exported.
    Example: export_of: {checkpoint: iter_0000384, step: 384}.
    Use instead: step: 383. Trainers name a checkpoint by the steps done, and count steps from 0.
    Sources: lightseekorg/TorchSpec, torchspec/training/checkpoint.py (step_id = step + 1).
    Since: 0.1.0
    """
    assert subject.recipe is not None
    export = subject.recipe.training
    named = _ITERATION.fullmatch(export.checkpoint)
    if named and export.step != UNKNOWN and int(named[1]) != export.step + 1:
        where = subject.recipe.where("/training/export_of/step")
        message = f"{export.checkpoint} is step {int(named[1]) - 1}, the recipe says step {export.step}"
        yield Finding(message, "look into the training run which one was exported", where)


@reported("R030", "training-manifest", needs=("recipe",))
def training_manifest() -> None:
    """The training manifest that the recipe names is missing or not one.

    What it does: reads recipes/FILE strictly and validates it (schema training-manifest/1).
    Why is this bad: the recipe leans on a witness that cannot be heard.
    Example: manifest: kimi-ft-v3.training.json, and no such file.
    Use instead: the file that the training run wrote, or manifest: unknown.
    Since: 0.1.0
    """


@rule("R031", "manifest-iteration", needs=("recipe", "training"))
def manifest_iteration(subject: Subject) -> Iterable[Finding]:
    """The recipe exports another step than the training manifest describes.

    What it does: manifest: iteration = step + 1; recipe: the same step, and iter_N with N = iteration.
    Why is this bad: the card would name a checkpoint that these weights are not.
    Example: export_of step 383 with a manifest of step 191.
    Use instead: the manifest of the exported checkpoint.
    Since: 0.1.0
    """
    recipe, manifest = _both(subject)
    iteration, step = manifest["iteration"], manifest["step"]
    file = subject.training_file
    if iteration != step + 1:
        message = f"iteration is {iteration} and step is {step}; iteration is always step + 1"
        yield Finding(message, "look into the training run", Where(file, pointer="/iteration"))
    named = _ITERATION.fullmatch(recipe.training.checkpoint)
    stated = recipe.training.step
    if stated not in (UNKNOWN, step) or (named and int(named[1]) != iteration):
        exported = f"{recipe.training.checkpoint} (step {stated})"
        message = f"the recipe exports {exported}, the manifest is of iteration {iteration} (step {step})"
        where = recipe.where("/training/export_of")
        yield Finding(
            message, "use the manifest of the exported checkpoint", where, (Where(file, pointer="/step"),)
        )


@rule("R032", "manifest-recipe", needs=("recipe", "training"))
def manifest_recipe(subject: Subject) -> Iterable[Finding]:
    """The recipe states another architecture than the draft was trained with.

    What it does: compares every engine-read key of the manifest's config with the recipe: aux layers, mask
    token, block size, rope ...
    Why is this bad: recipe and config.json may agree with each other and still both be wrong: layers off by
    one keep nine tenths of the accept length and no floor sees it.
    Example: aux_layers ids [2, 13, 25] where the manifest says [1, 12, 24].
    Use instead: what the manifest says, in recipe and config.json.
    Since: 0.1.0
    """
    recipe, manifest = _both(subject)
    stated = subject.keys.stated(config_of(recipe))
    for key, trained, other in _differences(subject.keys, manifest["config"], stated):
        where = recipe.where(recipe_pointer(recipe, key))
        if key == "num_target_layers":
            where = recipe.target.where("/layers")
        yield _contradiction("the recipe", key, other, trained, subject.training_file, where)


@rule("R033", "manifest-amplitude", needs=("recipe", "training"))
def manifest_amplitude(subject: Subject) -> Iterable[Finding]:
    """The rope amplitude of the recipe is not the one of the training run.

    What it does: compares draft.rope.amplitude_as_trained with rope_amplitude of the manifest.
    Why is this bad: engines read the same YaRN config as an amplitude of 1.0 or 1.4159; which one is right
    only the training run knows.
    Example: amplitude_as_trained: 1.0, and 1.4159 in the manifest.
    Use instead: the amplitude of the manifest.
    Sources: sgl-project/sglang#31232.
    Since: 0.1.0
    """
    recipe, manifest = _both(subject)
    trained, stated = manifest.get("rope_amplitude"), recipe.draft.amplitude_as_trained
    if trained is None or stated is None or stated == UNKNOWN:
        return
    if abs(float(stated) - trained) > 1e-3 * trained:
        where = recipe.where("/draft/rope/amplitude_as_trained")
        message = f"the recipe says the rope amplitude is {stated}, the draft was trained with {trained}"
        yield Finding(
            message,
            "write the amplitude of the manifest",
            where,
            (Where(subject.training_file, pointer="/rope_amplitude"),),
        )


@rule("R035", "manifest-no-amplitude", severity=Severity.WARNING, needs=("recipe", "training"))
def manifest_without_amplitude(subject: Subject) -> Iterable[Finding]:
    """The recipe states a rope amplitude that the training manifest does not confirm.

    What it does: wants rope_amplitude in the manifest where the recipe states one for a scaled rope.
    Why is this bad: only the training run knows the amplitude, and engines read the same keys as different
    ones.
    Example: amplitude_as_trained: 1.0, and no rope_amplitude in the manifest.
    Use instead: rope_amplitude in the manifest, from the training code.
    Since: 0.1.0
    """
    recipe, manifest = _both(subject)
    stated = recipe.draft.amplitude_as_trained
    scaled = recipe.draft.rope["type"] != "default"
    if scaled and stated not in (None, UNKNOWN) and manifest.get("rope_amplitude") is None:
        where = recipe.where("/draft/rope/amplitude_as_trained")
        message = f"the rope amplitude is stated as {stated}, and the training manifest has none"
        yield Finding(message, "add rope_amplitude to the manifest", where, (Where(subject.training_file),))


@rule("R034", "manifest-run", needs=("recipe", "training"))
def manifest_run(subject: Subject) -> Iterable[Finding]:
    """The training manifest is of another run.

    What it does: compares training.run with run of the manifest.
    Why is this bad: the provenance on the card would be another draft's.
    Example: run: kimi-ft-v3 with the manifest of kimi-ft-v2.
    Use instead: the manifest of this run.
    Since: 0.1.0
    """
    recipe, manifest = _both(subject)
    if manifest["run"] != recipe.training.run:
        message = (
            f"the recipe is of run {quoted(recipe.training.run)}, the manifest of {quoted(manifest['run'])}"
        )
        where = recipe.where("/training/run")
        yield Finding(
            message, "use the manifest of this run", where, (Where(subject.training_file, pointer="/run"),)
        )


@rule("C101", "manifest-config", needs=("recipe", "config", "training"))
def manifest_config(subject: Subject) -> Iterable[Finding]:
    """config.json is not the config that the draft was trained with.

    What it does: compares every engine-read key of config.json with the config in the training manifest.
    Why is this bad: exporters stamp defaults of another model over what was trained (rope, block size, mask
    token).
    Example: "rope_theta": 10000 in config.json, 50000 in the manifest.
    Use instead: export again with the config of the training run.
    Sources: NVIDIA/Model-Optimizer#917, #2149.
    Since: 0.1.0
    """
    recipe, manifest = _both(subject)
    for key, trained, other in _differences(subject.keys, manifest["config"], subject.stated):
        yield _contradiction(
            CONFIG,
            key,
            other,
            trained,
            subject.training_file,
            place(other.pointer if other else ""),
            recipe.where(recipe_pointer(recipe, key)),
        )


def _both(subject: Subject) -> tuple[Any, Mapping[str, Any]]:
    assert subject.recipe is not None
    assert subject.training is not None
    return subject.recipe, subject.training


def _differences(
    keys: Keys, trained: Mapping[str, Any], other: Mapping[str, tuple[Stated, ...]]
) -> Iterator[tuple[str, Stated | None, Stated | None]]:
    """Engine-read keys in which the trained config and another differ."""
    witness = keys.stated(trained)
    for key in sorted(filter(keys.is_read, set(witness) | set(other))):
        one, two = witness.get(key, (None,))[0], other.get(key, (None,))[0]
        if one is None or two is None or not same(one.value, two.value):
            yield key, one, two


def _contradiction(
    who: str, key: str, other: Stated | None, trained: Stated | None, file: str, where: Where, *more: Where
) -> Finding:
    here = quoted(str(other.value), 80) if other else "nothing"
    there = quoted(str(trained.value), 80) if trained else "nothing"
    witness = Where(file, pointer="/config" + (trained.pointer if trained else ""))
    message = f"{who} says {quoted(key)} is {here}, the draft was trained with {there}"
    return Finding(message, "the training run is right: mend the other", where, (witness, *more))
