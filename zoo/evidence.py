"""Evidence: the record of a check that ran, as ``release/NAME/VERSION/evidence/KIND-SUBJECT.json``.

A record is bound to the bytes of a checkpoint and to the facts that the check depends on (``zoo.digests``). A
record of another checkpoint, or of facts that have changed, is *stale*: it is shown, and never counts. A
record that contradicts itself is refused. All evidence is by its author's word until it is signed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from zoo.atomic import write_atomically
from zoo.checkpoint.jsonfile import JsonCodes, read_json
from zoo.digests import basis_digest, sha256_file
from zoo.errors import InvalidRecipeError, ZooError
from zoo.printable import printable, quoted
from zoo.recipe.config import proposals
from zoo.recipe.model import Recipe
from zoo.results import Finding, Outcome, Where
from zoo.smoke.settings import REFERENCE
from zoo.workspace import Zoo

SCHEMA = "evidence/1"
# Results with this prefix are gates, which decide; the others of such a record are what they rest on.
GATE = "gate/"
# A record of 1,000 results with their histograms stays well below this.
SIZE_LIMIT = 1024 * 1024
_VALUES = 50_000  # the record of 24 served prompts has 4,000
_ERRORS = 10
# An accept length is stored with at least this precision, whatever its last printed digit.
_ROUNDING = 0.005
_FILE = re.compile(r"(replay|smoke|reference|bench|calibration)-([a-z0-9][a-z0-9._-]*)\.json")
# Why a record of other bytes, or one without a signature, does not count.
_OTHER_BYTES = "it was made for another checkpoint"
UNSIGNED = "it is not signed, and this zoo has signers"
_ON_PROFILE = frozenset({"smoke", "bench"})
# A list of numbers as the json module writes it: one a line, where a thousand token ids fit on a few.
_NUMBERS = re.compile(r"\[\n\s+[-0-9][-0-9.e+,\s]*\]")
_CODES = JsonCodes(unreadable="K005", duplicate="K005", non_finite="K005")


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    version: str
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """One check of the record; ``measured`` holds its numbers by name."""

    check: str
    outcome: Outcome
    reason: str
    measured: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One record. ``stale`` says why it does not count here; "" if it does. ``signed_by``: the signer
    that the zoo trusts and whose signature lies beside it, or "". ``unseen``: it does not count only because
    nothing here can check that signature. Times are UTC, ``2026-11-30T18:00:00Z``.

    ``measured`` may hold anything with a name; four names have a meaning that is checked:
    ``accept_histogram`` (entry k: verify steps that accepted k draft tokens), ``verify_steps``,
    ``correct_drafts``, ``accept_length`` (1 + correct / steps).
    """

    kind: str
    subject: str
    checkpoint_digest: str
    basis_digest: str
    target: Mapping[str, str]
    inputs: Mapping[str, Any]
    settings: Mapping[str, Any]
    engine: Engine
    host: Mapping[str, Any]
    tool: str
    started: str
    ended: str
    results: tuple[Result, ...]
    stale: str = ""
    signed_by: str = ""
    unseen: bool = False

    @property
    def name(self) -> str:
        """The name of its file, without ``.json``."""
        return f"{self.kind}-{self.subject}"

    @property
    def by(self) -> str:
        """Who stands behind it, in words."""
        if self.unseen:
            return "with a signature that was not checked"
        return f"signed by {self.signed_by}" if self.signed_by else "by the author, unsigned"

    @property
    def deciding(self) -> tuple[Result, ...]:
        """The results that the outcome follows from: its gates (``gate/NAME``) where the check has some, and
        the rest are the measurements that these rest on; else all."""
        gates = tuple(result for result in self.results if result.check.startswith(GATE))
        return gates or self.results

    @property
    def outcome(self) -> Outcome:
        """Failed if a deciding check failed, passed only if all passed; of gates, all that the settings
        ``require``."""
        outcomes = {result.check: result.outcome for result in self.deciding}
        if Outcome.FAILED in outcomes.values():
            return Outcome.FAILED
        required = {GATE + name for name in str(self.settings.get("require", "")).split()}
        needed = required if required and all(check.startswith(GATE) for check in outcomes) else set(outcomes)
        passed = all(outcomes.get(check) is Outcome.PASSED for check in needed)
        return Outcome.PASSED if passed else Outcome.NOT_CHECKED

    def as_json(self) -> dict[str, Any]:
        """The record as ``evidence/1`` (``zoo/schemas/evidence-1.json``)."""
        engine = {"name": self.engine.name, "version": self.engine.version, "argv": list(self.engine.argv)}
        results = [
            {
                "check": each.check,
                "outcome": str(each.outcome),
                "reason": each.reason,
                "measured": dict(each.measured),
            }
            for each in self.results
        ]
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "subject": self.subject,
            "checkpoint_digest": self.checkpoint_digest,
            "basis_digest": self.basis_digest,
            "target": dict(self.target),
            "inputs": dict(self.inputs),
            "settings": dict(self.settings),
            "engine": engine,
            "host": dict(self.host),
            "tool": self.tool,
            "started": self.started,
            "ended": self.ended,
            "results": results,
        }


class RefusedEvidenceError(InvalidRecipeError):
    """An evidence file is not a record, or contradicts itself; ``findings`` says which and why."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        plural = "problem" if len(findings) == 1 else "problems"
        hint = "remove the file, or record the check again; evidence is never edited by hand"
        ZooError.__init__(self, f"evidence cannot be used: {len(findings)} {plural}", hint=hint)
        self.findings = findings


def evidence_folder(zoo: Zoo, recipe: Recipe) -> Path:
    return zoo.release_folder(recipe.name, recipe.version) / "evidence"


def file_of(recipe: Recipe, record: str) -> str:
    """The file of a record, as a person in the root of the zoo types it."""
    return f"release/{recipe.name}/{recipe.version}/evidence/{record}.json"


def load_evidence(
    zoo: Zoo, recipe: Recipe, checkpoint_digest: str | None = None, *, lenient: bool = False
) -> tuple[tuple[Evidence, ...], tuple[Finding, ...]]:
    """All evidence of the recipe's version, by file name, and what is wrong with files that are refused
    (K005, K006).

    With ``checkpoint_digest``, a record of other bytes is stale. A record whose basis is not the recipe's
    present one is always stale; so is a smoke test on other hardware or of another target, and a record that
    nobody of the zoo's signers has signed, where it has any. With ``lenient``, a record whose signature
    nothing here can check is stale and ``unseen``; whoever asks must then say "not checked".

    Raises:
        MissingLibraryError: nothing here can check signatures, and not ``lenient``.
        ZooError: the key of a signer cannot be used; the weights of a target in the zoo cannot be read.
    """
    found: list[Finding] = []
    records: list[Evidence] = []
    for path in evidence_files(zoo, evidence_folder(zoo, recipe)):
        record, problems = read_evidence(path, zoo.shown(path), root=zoo.root)
        if record is not None and not problems:
            problems = tuple(_against_recipe(record, recipe, zoo.shown(path)))
        stale = ""
        if record is not None and not problems:
            stale = _stale(record, recipe, checkpoint_digest) or _other_prompts(record, recipe, zoo)
            if record.kind == "smoke" and not stale:
                from zoo.smoke.answering import against_recipe, unanswering

                # Weights of the target are read where somebody has read those of the draft.
                stale = unanswering(record, recipe, zoo, weights=checkpoint_digest is not None)
                said = () if stale else against_recipe(record, recipe)
                problems = _contradictory(said, zoo.shown(path))
        found += problems
        if record is not None and not problems:
            if zoo.signers:
                record = _signed(record, zoo, path, stale, lenient=lenient)
                stale = stale or record.stale
            records.append(replace(record, stale=stale))
    return tuple(records), tuple(found)


def bound_to(evidence: Iterable[Evidence], checkpoint_digest: str) -> tuple[Evidence, ...]:
    """``evidence`` with the records of other bytes stale."""
    return tuple(
        each
        if each.checkpoint_digest == checkpoint_digest
        else replace(each, stale=_OTHER_BYTES, unseen=False)
        for each in evidence
    )


def _signed(record: Evidence, zoo: Zoo, path: Path, stale: str, *, lenient: bool) -> Evidence:
    """The record with its signer or, in ``stale``, why there is none. ``stale``: why it does not count
    anyway."""
    from zoo.trust.library import MissingLibraryError
    from zoo.trust.policy import signer_of, unseen

    try:
        signer, refusal = signer_of(zoo, path)
    except MissingLibraryError as error:
        if not lenient:
            raise
        return replace(record, stale=unseen(error), unseen=not stale)
    return replace(record, signed_by=signer, stale=refusal)


def evidence_files(zoo: Zoo, folder: Path) -> list[Path]:
    """The files of the records in ``folder``, sorted; none where it is a link out of the zoo."""
    return sorted(folder.glob("*.json")) if zoo.holds(folder) else []


def read_evidence(
    path: Path, shown: str, root: Path | None = None
) -> tuple[Evidence | None, tuple[Finding, ...]]:
    """One record, read strictly: no duplicate keys, no NaN, valid by its schema, consistent with itself and
    its file name."""
    named = _FILE.fullmatch(path.name)
    if named is None:
        message = f"{quoted(path.name)} is not named KIND-SUBJECT.json"
        return None, (_refused(shown, message, "name it by its kind and subject, e.g. replay-held-out.json"),)
    if root is not None and not path.resolve().is_relative_to(root.resolve()):
        return None, (_refused(shown, "a link that leads out of the zoo", "put the file itself here"),)
    data, findings = read_json(path, shown, _CODES, size_limit=SIZE_LIMIT, values=_VALUES)
    if data is None or findings:
        return None, findings
    problems = _problems(data, shown)
    if not problems and (data["kind"], data["subject"]) != named.groups():
        own = f"{data['kind']}-{data['subject']}.json"
        problems = (_refused(shown, f"its kind and subject say {quoted(own)}", f"name it {own}"),)
    return (None, problems) if problems else (_evidence(data), ())


def write_evidence(path: Path, evidence: Evidence) -> None:
    """Write a record, whole or not at all.

    Raises:
        ValueError: the record contradicts its schema or itself; that is a fault of the check that made it.
        OSError: it cannot be written.
    """
    data = evidence.as_json()
    problems = _problems(data, path.name)
    if problems or path.name != f"{evidence.name}.json":
        raise ValueError(
            problems[0].message if problems else f"evidence {evidence.name} written as {path.name}"
        )
    text = json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False)
    text = _NUMBERS.sub(lambda found: " ".join(found[0].split()), text)
    write_atomically(path, text.encode() + b"\n")


def basis_of(recipe: Recipe, kind: str, subject: str, inputs: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a record of this kind ran on: its inputs (a trace, prompts) and, where an engine served the draft,
    the profile. None if the recipe does not declare the profile.

    The reference engine has no profile, so that what it served on a CPU depends on no profile either.
    """
    if kind not in _ON_PROFILE or (kind, subject) == ("smoke", REFERENCE):
        return inputs
    profile = next((each for each in recipe.profiles if each.name == subject), None)
    return None if profile is None else {**profile.data, "inputs": inputs}


def _stale(record: Evidence, recipe: Recipe, checkpoint_digest: str | None) -> str:
    if checkpoint_digest is not None and record.checkpoint_digest != checkpoint_digest:
        return _OTHER_BYTES
    basis = basis_of(recipe, record.kind, record.subject, record.inputs)
    if basis is None:
        return f"the recipe declares no profile {record.subject}"
    if basis_digest(recipe, basis, record.checkpoint_digest, record.settings) != record.basis_digest:
        return "what it depends on (target, draft, profile or settings) has changed since"
    return ""


def _other_prompts(record: Evidence, recipe: Recipe, zoo: Zoo) -> str:
    """That the prompts which the recipe names for serving are no longer those of the record, or ""."""
    named = recipe.gates.get("smoke", {}).get("prompts")
    if record.kind != "smoke" or named is None or record.settings.get("prompts") != named:
        return ""
    try:
        same = sha256_file(zoo.recipes / named) == record.inputs["sha256"]
    except OSError:
        return f"the prompts {named} are not there"
    return "" if same else f"the prompts {named} have changed since"


def _problems(data: Mapping[str, Any], shown: str) -> tuple[Finding, ...]:
    """What contradicts the schema; if nothing does, what contradicts arithmetic."""
    from zoo.schemas import validator

    # Not all of them: a record of one megabyte can have a hundred thousand.
    errors = list(islice(validator("evidence-1").iter_errors(data), _ERRORS))
    errors.sort(key=lambda error: error.json_path)
    hint = "record the check again with this version of zoo"
    if errors:
        return tuple(
            _refused(
                shown, f"{printable(error.json_path, limit=100)}: {printable(error.message, limit=200)}", hint
            )
            for error in errors
        )
    return _contradictory(_impossible(data), shown)


def _contradictory(messages: Iterable[str], shown: str) -> tuple[Finding, ...]:
    hint = "record the check again; evidence is never edited by hand"
    return tuple(
        Finding(printable(each, keep="", limit=300), hint, Where(shown), code="K006") for each in messages
    )


def _impossible(data: Mapping[str, Any]) -> Iterator[str]:
    try:
        started, ended = (datetime.fromisoformat(data[key]) for key in ("started", "ended"))
    except ValueError:
        yield "started or ended is not a real date and time"
    else:
        if ended < started:
            yield f"it ended ({data['ended']}) before it started ({data['started']})"
    for result in data["results"]:
        for message in _impossible_counts(result["measured"]):
            yield f"check {result['check']}: {message}"
    if data["kind"] == "smoke":
        from zoo.smoke.consistency import contradictions

        yield from contradictions(data)


def _impossible_counts(measured: Mapping[str, Any]) -> Iterator[str]:
    """The identities of an accept histogram h: steps = sum h[k], correct = sum k h[k], accept length = 1 +
    correct / steps."""
    histogram, steps, correct, length = (
        measured.get(key) for key in ("accept_histogram", "verify_steps", "correct_drafts", "accept_length")
    )
    if histogram is not None:
        total = sum(histogram)
        accepted = sum(k * count for k, count in enumerate(histogram))
        if steps is not None and steps != total:
            yield f"verify_steps is {steps}, but the accept histogram counts {total}"
        if correct is not None and correct != accepted:
            yield f"correct_drafts is {correct}, but the accept histogram gives {accepted}"
        steps, correct = total, accepted
        if not total:
            yield "the accept histogram counts no verify step"
    if steps and correct is not None and length is not None:
        exact = 1 + correct / steps
        if abs(exact - length) > _ROUNDING:
            yield f"accept_length is {length:g}, but 1 + {correct} / {steps} is {exact:.4f}"


def _against_recipe(record: Evidence, recipe: Recipe, shown: str) -> Iterator[Finding]:
    """A draft that proposes N tokens a step has 0 to N of them accepted, N + 1 entries."""
    proposed = proposals(recipe)
    if proposed is None:
        return
    size = proposed + 1
    for result in record.results:
        histogram = result.measured.get("accept_histogram")
        if histogram is not None and len(histogram) != size:
            yield Finding(
                f"check {result.check}: the accept histogram has {len(histogram)} entries, but block size "
                f"{recipe.draft.block_size} gives {size}",
                "record the check again; evidence is never edited by hand",
                Where(shown),
                (recipe.where("/draft/block_size"),),
                code="K006",
            )


def _refused(shown: str, message: str, hint: str) -> Finding:
    return Finding(message, hint, Where(shown), code="K005")


def _evidence(data: Mapping[str, Any]) -> Evidence:
    fields = {key: value for key, value in data.items() if key not in ("schema", "engine", "results")}
    engine = Engine(data["engine"]["name"], data["engine"]["version"], tuple(data["engine"]["argv"]))
    results = tuple(
        Result(each["check"], Outcome(each["outcome"]), each["reason"], each["measured"])
        for each in data["results"]
    )
    return Evidence(**fields, engine=engine, results=results)
