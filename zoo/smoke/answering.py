"""Whether the record of a smoke test answers for a recipe: what it says against the recipe's present facts,
and whether its hardware and its target are the recipe's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from zoo.recipe.config import proposals
from zoo.results import Outcome
from zoo.smoke.gpus import is_gpu
from zoo.smoke.settings import BLOCK, CPU, LOADED, READY, REFERENCE

if TYPE_CHECKING:
    from zoo.evidence import Evidence
    from zoo.recipe.model import Profile, Recipe
    from zoo.workspace import Zoo

_GATE, _TARGET, _SGLANG = "gate/", "target", "sglang"
_FILES = {"config_sha256": "config.json", "tokenizer_sha256": "tokenizer.json"}


def against_recipe(record: Evidence, recipe: Recipe) -> Iterator[str]:
    """What a record says against the recipe for whose present facts it was made."""
    passed = {each.check: each.measured for each in record.results if each.outcome is Outcome.PASSED}
    proposed = proposals(recipe)
    if _GATE + BLOCK in passed:
        ran = passed[_GATE + BLOCK].get("proposed_per_step")
        if ran != proposed:
            yield f"check gate/{BLOCK}: passed with {ran} proposals a step, and the recipe says {proposed}"
    profiles = _profiles(record, recipe)
    if _GATE + LOADED in passed:
        yield from _loaded(passed[_GATE + LOADED], recipe, profiles, proposed)
    if record.subject != REFERENCE and _GATE + READY in passed:
        yield from _engine(record, profiles[0])
    # Other arguments never answer a gate (zoo.smoke.settings), and are recorded without their secrets.
    if profiles and not record.settings.get("extra") and not _is_command(record, recipe, profiles):
        yield f"engine.argv is not the command of profile {' or '.join(each.name for each in profiles)}"


def unanswering(record: Evidence, recipe: Recipe, zoo: Zoo, *, weights: bool) -> str:
    """Why a record that may be true says nothing of this recipe here, or "": other hardware than its
    profile's, or another target than the one whose folder the zoo has.

    ``weights``: compare those of the target too, where the record has their digest; the first ones do not.

    Raises:
        ZooError: the weights of the target cannot be read.
    """
    if not any(each.check.startswith(_GATE) for each in record.results):
        return "it has no gates, so that nobody knows what was asked"
    return _elsewhere(record, recipe) or _other_target(record, recipe, zoo, weights=weights)


def _loaded(
    gate: Mapping[str, Any], recipe: Recipe, profiles: list[Profile], proposed: int | None
) -> Iterator[str]:
    """What /server_info of SGLang and of the reference engine said of the draft."""
    from zoo.engines.hazards import profile_argv
    from zoo.engines.sglang import algorithm

    wanted = {algorithm(profile_argv(recipe, each)) for each in profiles if each.engine == _SGLANG}
    ran = gate.get("speculative_algorithm")
    if wanted and ran not in wanted:
        yield f"check gate/{LOADED}: passed with algorithm {ran}, not {' or '.join(sorted(wanted))}"
    tokens = gate.get("speculative_num_draft_tokens")
    if wanted and proposed is not None and tokens != proposed + 1:
        yield f"check gate/{LOADED}: passed with {tokens} draft tokens, not {proposed + 1}"


def _engine(record: Evidence, profile: Profile) -> Iterator[str]:
    ran, pinned = record.engine, f"{profile.engine} {profile.version}"
    try:
        same = Version(ran.version).public == profile.version.public
    except InvalidVersion:
        same = False
    if ran.name != profile.engine or not same:
        yield f"check gate/{READY}: passed with {ran.name} {ran.version}, the profile pins {pinned}"


def _is_command(record: Evidence, recipe: Recipe, profiles: list[Profile]) -> bool:
    """Whether the engine's argv is what one of the profiles gives; the target's revision is in it where the
    engine fetched the target by its name."""
    from zoo.smoke.command import public_argv

    tier, revision = str(record.settings.get("tier", "")), recipe.target.served.revision
    return any(
        record.engine.argv == public_argv(recipe, profile, tier, revision=pin)
        for profile in profiles
        for pin in (None, revision)
    )


def _elsewhere(record: Evidence, recipe: Recipe) -> str:
    tier, gpus = str(record.settings.get("tier", "")), [str(name) for name in record.host["gpus"]]
    if (tier == CPU) != (record.subject == REFERENCE):
        return f"{record.subject} does not serve on tier {tier}"
    if tier == CPU:
        if record.engine.name != REFERENCE:
            return f"{record.engine.name} does not serve on tier cpu"
        return "tier cpu has no GPUs, and it names some" if gpus else ""
    profile = _profiles(record, recipe)[0]
    if f"{len(gpus)}gpu" != tier or len(gpus) != profile.gpus:
        return f"it names {len(gpus)} GPUs, profile {profile.name} is for {profile.gpus}"
    others = sorted({name for name in gpus if not is_gpu(name, profile.gpu)})
    return f"it ran on {', '.join(others)}, profile {profile.name} is for {profile.gpu}" if others else ""


def _other_target(record: Evidence, recipe: Recipe, zoo: Zoo, *, weights: bool) -> str:
    from zoo.digests import sha256_file

    served = recipe.target.served.path
    folder = zoo.root / served
    said = next((each.measured for each in record.results if each.check == _TARGET), None)
    if said is None or not served.startswith("./") or not folder.is_dir():
        return ""
    for key, name in _FILES.items():
        try:
            same = said.get(key) == sha256_file(folder / name)
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{name} of the target {served} cannot be read ({error.strerror or error})"
        if not same:
            return f"{name} of the target {served} is another one than was served"
    if weights and "weights_sha256" in said:
        from zoo.checkpoint.folder import open_checkpoint
        from zoo.smoke.target_weights import weights_of

        if weights_of(open_checkpoint(folder, served)).get("weights_sha256") != said["weights_sha256"]:
            return f"the weights of the target {served} are others than were served"
    return ""


def _profiles(record: Evidence, recipe: Recipe) -> list[Profile]:
    """The profile that a record names; of the reference engine, any of the recipe, whose reading it takes."""
    return [each for each in recipe.profiles if record.subject in (each.name, REFERENCE)]
