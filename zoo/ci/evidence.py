"""The evidence of a change: bound to the draft, signed by those whom the base trusts (V007 to V010)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from zoo.ci.base import BaseZoo
from zoo.ci.model import ChangedFile, Kind, Record
from zoo.digests import basis_digest
from zoo.errors import ZooError
from zoo.evidence import Evidence, basis_of, evidence_folder, load_evidence, read_evidence
from zoo.printable import printable
from zoo.recipe.model import Recipe
from zoo.release import record
from zoo.results import Finding, Where
from zoo.rules import Absent
from zoo.trust.library import MissingLibraryError
from zoo.trust.policy import signer_of, unseen
from zoo.workspace import Zoo

_AGAIN = "record the check again, for this draft"
Records = tuple[Record, ...]


@dataclass(frozen=True)
class Judged:
    """``evidence``: what counts and what does not, with the bytes where they are known; ``records``: the same
    for readers. ``missing``: why a rule could not be asked, by its code."""

    evidence: tuple[Evidence, ...]
    records: Records
    findings: tuple[Finding, ...]
    missing: dict[str, Absent] = field(default_factory=dict)


def judge(
    zoo: Zoo,
    base: BaseZoo,
    changed: Iterable[ChangedFile],
    recipe: Recipe,
    before: Recipe | None,
    digest: str | None,
) -> Judged:
    """Judge the records beside the recipe's version, and those that come to other versions. ``zoo`` has the
    signers of the base; ``digest``: of the checkpoint, or None.

    Raises:
        ZooError: the key of a signer cannot be used.
    """
    kinds = {file.path: file.kind for file in changed}
    evidence, _ = load_evidence(zoo, recipe, digest, lenient=True)  # what is refused is K005 or K006
    unsigned, _ = load_evidence(replace(zoo, signers=()), recipe, digest)
    records: list[Record] = []
    findings: list[Finding] = []
    missing: dict[str, Absent] = {}
    for one, bound in zip(evidence, unsigned, strict=True):
        path = zoo.shown(evidence_folder(zoo, recipe) / f"{one.name}.json")
        kind = kinds.get(path, Kind.UNCHANGED)
        records.append(Record(one.name, str(one.outcome), one.by, one.stale, kind))
        if kind is not Kind.UNCHANGED:
            if bound.stale:
                findings.append(
                    Finding(f"it does not count: {bound.stale}", _AGAIN, Where(path), code="V007")
                )
            findings += _signature(zoo, path, missing)
        elif one.unseen:
            missing["V008"] = Absent(f"{one.name}: {one.stale}")
        elif one.stale and before is not None and _counted(one, before):
            findings.append(
                Finding(f"it does not count any more: {one.stale}", _AGAIN, Where(path), code="V008")
            )
    findings += _removed(kinds, recipe)
    findings += _elsewhere(zoo, base, kinds, recipe, missing)
    return Judged(evidence, tuple(records), tuple(findings), missing)


def _removed(kinds: Mapping[str, Kind], recipe: Recipe) -> Iterator[Finding]:
    """V021: records of this version that the change takes away, whatever they said."""
    for path, kind in kinds.items():
        match path.split("/"):
            case ["release", recipe.name, recipe.version, "evidence", name] if name.endswith(".json"):
                if kind is Kind.REMOVED:
                    hint = "keep it: a newer record beside it says what is different now"
                    yield Finding("a record of evidence is removed", hint, Where(path), code="V021")


def _counted(one: Evidence, before: Recipe) -> bool:
    """Whether the record counted for what the recipe said at the base, as far as it depends on that."""
    basis = basis_of(before, one.kind, one.subject, one.inputs)
    return basis is not None and (
        basis_digest(before, basis, one.checkpoint_digest, one.settings) == one.basis_digest
    )


def _signature(zoo: Zoo, path: str, missing: dict[str, Absent]) -> Iterator[Finding]:
    """V009 or V010 of a record that comes in; in ``missing``, why V010 cannot be asked."""
    if not zoo.signers:
        message = "nobody has signed it: it counts as the author's word"
        yield Finding(message, "sign it: zoo sign; see docs/trust.md", Where(path), code="V009")
        return
    try:
        signer, refusal = signer_of(zoo, zoo.root / path)
    except MissingLibraryError as error:
        missing["V010"] = Absent(f"{printable(path, keep='')}: {unseen(error)}")
        return
    if not signer:
        names = ", ".join(each.name for each in zoo.signers)
        hint = f"a record must be signed by one of the base's signers ({printable(names, keep='')}): zoo sign"
        yield Finding(refusal, hint, Where(path), code="V010")


def _elsewhere(
    zoo: Zoo, base: BaseZoo, kinds: dict[str, Kind], recipe: Recipe, missing: dict[str, Absent]
) -> Iterator[Finding]:
    """Records that come to a version which is not the recipe's: bound to its manifest."""
    for path, kind in kinds.items():
        match path.split("/"):
            case ["release", recipe.name, version, "evidence", name] if name.endswith(".json"):
                if version == recipe.version or kind is Kind.REMOVED:
                    continue
                one, problems = read_evidence(zoo.root / path, path, root=zoo.root)
                for problem in problems:
                    yield replace(problem, code="V007")
                if one is None or problems:
                    continue
                try:
                    manifest = record.manifest_of(zoo, recipe.name, version)
                except ZooError:  # V003 or V006
                    continue
                if manifest is None or manifest.document["checkpoint_digest"] != one.checkpoint_digest:
                    message = f"it is not about the files of {recipe.name} {version}"
                    yield Finding(message, _AGAIN, Where(path), code="V007")
                yield from _signature(zoo, path, missing)
