"""The first steps of a release: everything that is found out before anything is written. A dry run takes
all of them."""

from __future__ import annotations

from dataclasses import replace

from zoo.checkpoint.cache import user_cache
from zoo.checkpoint.model import Checkpoint
from zoo.checkpoint.scan import DeepPass
from zoo.digests import engine_digest
from zoo.errors import ReleaseRefusedError, UnreadableError, ZooError
from zoo.evidence import RefusedEvidenceError, load_evidence
from zoo.printable import quoted
from zoo.recipe.model import Recipe
from zoo.release import credentials, gates, manifest, record
from zoo.release.context import Done, Release
from zoo.release.durable import identity
from zoo.release.earlier import copy_command
from zoo.release.paths import can_run
from zoo.release.versions import refuse_yanked
from zoo.results import Report, Severity
from zoo.rules.deep import STANDIN_KEY
from zoo.rules.registry import Level
from zoo.verify import verify_recipe

_RESERVED = (manifest.NAME, manifest.SIGNATURE, *record.TEXTS)
# What the numbers of a stand-in show is no news once --allow-standin was given.
_NUMBERS = ("D001", "D002", "D003")


def preflight(release: Release) -> Done:
    """Everything cheap that can say no."""
    plan, recipe = release.plan, release.plan.recipe
    subject = verify_recipe(plan.zoo, recipe.name, checkpoint=plan.checkpoint).subject
    if subject.checkpoint is None:
        absent = subject.absent("checkpoint")
        raise UnreadableError(
            f"the checkpoint of {recipe.name} cannot be read: {absent.reason if absent else ''}",
            hint=f"name its folder: zoo release {recipe.name} --checkpoint FOLDER",
        )
    release.checkpoint = subject.checkpoint
    _refuse_bad_files(release, recipe)
    release.standin = STANDIN_KEY in release.checkpoint.metadata
    if release.standin and not plan.allow_standin:
        release.refuse(
            ReleaseRefusedError(
                f"{quoted(release.checkpoint.source)} is a stand-in: it has no trained weights",
                hint="give the folder with the trained weights, or add --allow-standin to publish a stand-in "
                "(without it, a sparse one fails the byte gate too; one that does not is made by: "
                f"zoo standin {recipe.name} --out FOLDER --fill random)",
            )
        )
    release.entries = record.published(plan.zoo, recipe.name)
    try:
        refuse_yanked(plan.zoo, recipe.name, recipe.version, "released")
        record.probe(plan.zoo, recipe.name, recipe.version)
    except ZooError as error:
        release.refuse(error)
    release.published = plan.target.lookup(recipe.version)
    nbytes = sum(release.checkpoint.files.get(name, 0) for name in recipe.checkpoint.files)
    release.base = plan.target.preflight(0 if release.published else nbytes)
    state = "is published already" if release.published else "is not published yet"
    higher = None if release.published else record.higher(recipe.version, release.entries)
    order = f"; a higher version, {higher}, was released before" if higher else ""
    return Done(
        f"{nbytes:,} bytes to release; {plan.target.spec} can be written; "
        f"{recipe.version} {state} there{order}"
    )


def _refuse_bad_files(release: Release, recipe: Recipe) -> None:
    checkpoint, seen = release.checkpoint, {name.casefold(): name for name in _RESERVED}
    secrets = release.plan.target.secrets
    for name in recipe.checkpoint.files:
        place = f"{quoted(name)} of {quoted(checkpoint.source)}"
        if (other := seen.setdefault(name.casefold(), name)) != name:
            release.refuse(
                ReleaseRefusedError(
                    f"{quoted(name)} and {quoted(other)} differ only in case, and some file systems keep one",
                    hint=f"rename one of them, in the folder and in {recipe.file}",
                )
            )
        if name not in checkpoint.files:
            said = [each.message for each in checkpoint.findings if each.where.file == name]
            raise ReleaseRefusedError(
                f"{place} cannot be released: {said[0] if said else 'it is not in the folder'}",
                hint=f"put the file there, or remove it from checkpoint.files in {recipe.file}",
            )
        if can_run(name):
            release.refuse(
                ReleaseRefusedError(
                    f"{place} can run code when it is loaded, and no release holds such a file",
                    hint=f"give weights as safetensors, and remove it from checkpoint.files in {recipe.file}",
                )
            )
        if (found := credentials.find_in_file(checkpoint.root / name, secrets)) is not None:
            release.refuse(credentials.refusal(place, found))


def stage(release: Release) -> Done:
    """Pin the declared files: what is verified from here on is what will be published."""
    declared = [name for name in release.plan.recipe.checkpoint.files if name in release.checkpoint.files]
    release.staged = _identities(release.checkpoint, declared)
    left = [quoted(name) for name in release.checkpoint.files if name not in declared]
    others = f"; {', '.join(left[:5])}{' and others' if len(left) > 5 else ''} stay behind" if left else ""
    return Done(f"{len(declared)} declared files{others}")


def _identities(checkpoint: Checkpoint, names: list[str]) -> dict[str, tuple[int, ...]]:
    return {name: identity(checkpoint.root / name) for name in names}


def verify(release: Release) -> Done:
    """Deep verification: all rules, every byte."""
    plan = release.plan
    deep = DeepPass(progress=plan.progress, cache=user_cache())
    verification = verify_recipe(
        plan.zoo, plan.recipe.name, checkpoint=plan.checkpoint, level=Level.DEEP, deep=deep
    )
    if _identities(release.checkpoint, list(release.staged)) != release.staged:
        raise UnreadableError(
            f"{quoted(release.checkpoint.source)} changed while it was verified",
            hint="wait until whatever writes it has finished, then run the command again",
        )
    if release.standin and plan.allow_standin:
        verification = replace(verification, report=_lenient(verification.report))
    release.verification = verification
    report = verification.report
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    ran = len(report.results) - len(report.not_checked)
    read = sum(file.size for file in release.declared.values())
    return Done(f"{ran} checks on {read:,} bytes: {_count(errors, 'error')}, {_count(warnings, 'warning')}")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _lenient(report: Report) -> Report:
    """``report`` with the findings about the numbers of a stand-in as warnings."""
    results = tuple(
        replace(
            result,
            findings=tuple(replace(each, severity=Severity.WARNING) for each in result.findings),
        )
        if result.code in _NUMBERS
        else result
        for result in report.results
    )
    return replace(report, results=results)


def weigh(release: Release) -> Done:
    """The four gates. A failing one stops a push, a missing one needs a reason."""
    plan = release.plan
    digest = engine_digest(plan.recipe, release.declared.values())
    release.evidence, refused = load_evidence(plan.zoo, plan.recipe, digest)
    if refused:
        release.refuse(RefusedEvidenceError(refused))
    report = release.verification.report
    release.gates = gates.evaluate(plan.recipe, report, release.evidence, release.standin)
    release.unchecked = gates.passed_over(release.gates, plan.unchecked)
    copies = {
        gate.name: copy_command(plan.zoo, plan.recipe, gate.name, digest)
        for gate in release.gates
        if gates.is_missing(gate, release.unchecked)
    }
    for error in gates.refusals(release.gates, release.unchecked, plan.recipe, copies):
        release.refuse(error)
    return Done(", ".join(gates.in_words(gate, release.unchecked) for gate in release.gates))
