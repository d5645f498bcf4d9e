"""Verification: gather the materials of a draft, run the rules, make the report. The functions behind
``zoo verify``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from zoo import __version__, rules
from zoo.checkpoint.model import Checkpoint
from zoo.errors import UnreadableError
from zoo.materials import gather
from zoo.recipe.load import Loaded, load_recipe
from zoo.recipe.model import UNKNOWN, Recipe
from zoo.recipe.training import load_training
from zoo.results import Finding, Report
from zoo.rules import Absent, Level, Subject
from zoo.sources import Sources
from zoo.workspace import Zoo

if TYPE_CHECKING:
    from zoo.checkpoint.scan import DeepPass
    from zoo.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Verification:
    """A report, and the materials that it is about (a release publishes exactly these)."""

    report: Report
    subject: Subject


def verify_recipe(
    zoo: Zoo,
    name: str,
    *,
    checkpoint: str | None = None,
    base: str | None = None,
    target: str | None = None,
    level: Level = Level.HEADER,
    strict: bool = False,
    engines: tuple[tuple[str, str], ...] = (),
    deep: DeepPass | None = None,
    sources: Sources | None = None,
    today: date | None = None,
) -> Verification:
    """Verify the draft of recipe ``name``; ``checkpoint`` names a folder instead of the recipe's own source,
    ``base`` and ``target`` those of base draft and target (or the target's config.json). ``sources`` opens
    remote ones; without it they are not read. ``deep`` says how the bytes are read at deep level. Waivers
    expire by ``today``, else by the clock.

    Raises:
        NoSuchRecipeError: the zoo has no such recipe.
        UnreadableError: what the user named cannot be opened, or changed while it was read.
    """
    loaded = load_recipe(zoo, name)
    missing: dict[str, Absent] = {}
    reported: tuple[Finding, ...] = loaded.findings
    if loaded.recipe is None:
        missing["recipe"] = Absent("the recipe cannot be used")
    sources = sources or Sources()
    opened = _open(zoo, loaded, checkpoint, missing, sources)
    training, training_file = None, ""
    if loaded.recipe is not None:
        training, training_file, absent, found = load_training(zoo, loaded.recipe)
        reported += found
        if absent is not None:
            missing["training"] = absent
    subject = Subject(
        recipe=loaded.recipe,
        checkpoint=opened,
        recipe_file=loaded.file,
        training=training,
        training_file=training_file,
        base=_open_base(zoo, loaded, base, missing, sources),
        engines=engines,
        reported=reported + (opened.findings if opened else ()),
        missing=missing,
        today=today or date.today(),
        severity=zoo.severity,
    )
    subject = gather(_scan(subject, level, deep), level, zoo, target, sources)
    if loaded.recipe is not None:
        evidence, found = _evidence(zoo, loaded.recipe, subject)
        subject = replace(subject, evidence=evidence, reported=subject.reported + found)
    return _verify(subject, {"recipe": name, "file": loaded.file}, level, strict)


def verify_source(
    source: str,
    *,
    target: str | None = None,
    level: Level = Level.HEADER,
    strict: bool = False,
    engines: tuple[tuple[str, str], ...] = (),
    deep: DeepPass | None = None,
    sources: Sources | None = None,
) -> Verification:
    """Verify a checkpoint folder on its own: its files, its config, and whether the two agree. It needs
    no zoo and no recipe. ``target`` names the target's folder or config.json, to compare with."""
    opened = (sources or Sources()).open(source)
    absent = Absent("no recipe was given", required=False)
    subject = Subject(
        recipe=None,
        checkpoint=opened,
        engines=engines,
        reported=opened.findings,
        missing={"recipe": absent, "recipe_file": absent},
        today=date.today(),
    )
    subject = gather(_scan(subject, level, deep), level, target=target, sources=sources)
    return _verify(subject, {}, level, strict)


def _open(
    zoo: Zoo, loaded: Loaded, named: str | None, missing: dict[str, Absent], sources: Sources
) -> Checkpoint | None:
    """The checkpoint: the folder that the user named or, else, the recipe's source, which may be out of
    reach."""
    if named is not None:
        return sources.open(named)
    if loaded.recipe is None:
        missing["checkpoint"] = Absent("the recipe cannot be used, so its source is not known")
        return None
    source = loaded.recipe.checkpoint.source
    try:
        if source == UNKNOWN:
            raise UnreadableError(
                "the recipe's source is unknown",
                hint="state it (checkpoint.source: ./FOLDER in the zoo, or hf://owner/name@revision); or "
                f"check a folder: zoo verify {loaded.recipe.name} --checkpoint FOLDER",
            )
        return sources.open(source, zoo=zoo)
    except UnreadableError as error:
        missing["checkpoint"] = Absent(f"{error.message}: {error.hint}")
        return None


def _open_base(
    zoo: Zoo, loaded: Loaded, named: str | None, missing: dict[str, Absent], sources: Sources
) -> Checkpoint | None:
    """The base draft: the folder that the user named, or a folder of the zoo that the recipe names."""
    if named is not None:
        return sources.open(named)
    recipe = loaded.recipe
    base = recipe.base if recipe is not None else None
    if recipe is None or base is None:
        missing["base"] = Absent("the recipe names no base draft", required=False)
    elif base.repo.startswith("./") and (zoo.root / base.repo).is_dir():
        return sources.open(base.repo, zoo=zoo)
    else:
        reason = f"the base draft is not here; zoo verify {recipe.name} --base FOLDER compares it"
        missing["base"] = Absent(reason, required=False)
    return None


def _scan(subject: Subject, level: Level, deep: DeepPass | None) -> Subject:
    """The subject with its pass over every byte, at deep level."""
    if level is Level.HEADER:
        return subject
    if subject.checkpoint is None:
        return replace(subject, missing={**subject.missing, "scan": subject.missing["checkpoint"]})
    from zoo.checkpoint.scan import scan_checkpoint

    return replace(subject, scan=scan_checkpoint(subject.checkpoint, _declared(subject), deep))


def _digest(subject: Subject) -> str | None:
    """The checkpoint digest of the bytes that were read, or None at header level."""
    if subject.recipe is None or subject.scan is None:
        return None
    from zoo.digests import engine_digest

    try:
        return engine_digest(subject.recipe, subject.scan.files.values())
    except ValueError:  # none of the declared files is there
        return None


def _evidence(zoo: Zoo, recipe: Recipe, subject: Subject) -> tuple[tuple[Evidence, ...], tuple[Finding, ...]]:
    """The evidence beside the recipe. What reads it is imported only where there is some: most recipes are
    verified before anything was recorded."""
    if not (zoo.release_folder(recipe.name, recipe.version) / "evidence").is_dir():
        return (), ()
    from zoo.evidence import load_evidence

    return load_evidence(zoo, recipe, _digest(subject), lenient=True)


def _verify(subject: Subject, facts: dict[str, Any], level: Level, strict: bool) -> Verification:
    checkpoint = subject.checkpoint
    if checkpoint is not None:
        dtypes = sorted({tensor.dtype for tensor in checkpoint.tensors.values()})
        facts |= {
            "checkpoint": checkpoint.source,
            "tensors": len(checkpoint.tensors),
            "dtypes": dtypes,
            "bytes": checkpoint.data_nbytes,
        }
        if checkpoint.revision is not None:
            facts["revision"] = checkpoint.revision
    if subject.family is not None:
        facts["family"] = subject.family.name
    report = Report(str(level), facts, rules.run(subject, level), strict, f"draft-zoo {__version__}")
    return Verification(report, subject)


def _declared(subject: Subject) -> list[str]:
    """The files of a deep pass: those that the recipe declares and the folder has or, without a recipe,
    all of them."""
    assert subject.checkpoint is not None
    names = subject.checkpoint.files if subject.recipe is None else subject.recipe.checkpoint.files
    return [name for name in names if name in subject.checkpoint.files]
