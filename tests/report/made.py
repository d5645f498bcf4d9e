"""Reports and changes with one text in every place that a pull request can write to."""

from __future__ import annotations

from zoo.ci.model import Cause, ChangedFile, CiResult, DraftResult, Kind, Record
from zoo.diff.compare import compare
from zoo.diff.model import Diff, FileFact, Form, Side
from zoo.results import CheckResult, Finding, Outcome, Report, Severity, Where

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RECIPE = "recipes/example.yaml"


def finding(text: str, code: str = "C010", severity: Severity = Severity.ERROR) -> Finding:
    """A finding about a checkpoint, which contradicts a line of the recipe."""
    return Finding(
        message=text,
        hint=text,
        where=Where(file=text, pointer=f"/{text}", tensor=text),
        related=(Where(RECIPE, 12, 3, "/draft/hidden_size"),),
        code=code,
        severity=severity,
    )


def report(text: str = "words", name: str = "example") -> Report:
    """One error, one warning, one note, two checks that did not run, one that passed."""
    own = Finding(text, text, Where(f"recipes/{text}", 1, 1), code="R010", severity=Severity.WARNING)
    results = (
        CheckResult("C001", Outcome.PASSED),
        CheckResult("C010", Outcome.FAILED, findings=(finding(text),)),
        CheckResult("C110", Outcome.NOT_CHECKED, text, required=False),
        CheckResult("F001", Outcome.NOT_CHECKED, text),
        CheckResult("R010", Outcome.FAILED, findings=(own,)),
        CheckResult("R020", Outcome.FAILED, findings=(finding(text, "R020", Severity.NOTE),)),
    )
    facts = {"recipe": name, "file": RECIPE, "checkpoint": text}
    facts |= {"tensors": 1, "dtypes": ["BF16"], "bytes": 2, "signature": text}
    return Report("header", facts, results, tool="draft-zoo 0.1.0")


def diff(text: str) -> Diff:
    form = Form("BF16", (2,), 4)
    sides = [
        Side(
            name=text,
            kind="recipe",
            facts={"resolved": {"a": side, text: side + text}},
            config={"block_size": side, text: side + text},
            tensors={f"{side}{text}": form},
            metadata={text: side},
            files={f"{side}{text}": FileFact(1)},
            missing={"numbers": text},
        )
        for side in ("a", "b")
    ]
    return compare(*sides)


def change(text: str = "words") -> CiResult:
    """A change that affects a recipe which fails, a new one, and one that could not be compared."""
    drafts = (
        DraftResult(
            "example",
            RECIPE,
            Kind.CHANGED,
            (Cause(RECIPE, "recipe"), Cause(f"recipes/{text}", "extends")),
            report(text),
            version=text,
            version_before="1.0.0",
            evidence=(
                Record(text, "passed", text, "", Kind.ADDED),
                Record("smoke-b200", "failed", "by the author, unsigned", text, Kind.UNCHANGED),
            ),
            diff=diff(text),
        ),
        DraftResult(
            "new", "recipes/new.yaml", Kind.ADDED, (Cause("recipes/new.yaml", "recipe"),), passed("new")
        ),
        DraftResult(
            "other",
            "recipes/other.yaml",
            Kind.UNCHANGED,
            (Cause("templates/card.md.j2", "template"),),
            passed("other"),
            version="1.0.0",
            version_before="1.0.0",
            not_compared=text,
        ),
    )
    # A place in the change as a whole may be any file of the repository.
    tree = Finding(text, text, Where(text, 1), code="V003")
    return CiResult(
        base=text,
        base_commit=COMMIT,
        head_commit=COMMIT,
        dirty=True,
        changed=(ChangedFile(RECIPE, Kind.CHANGED), ChangedFile(f"recipes/{text}", Kind.ADDED)),
        tree=Report("change", {"files": 2}, (CheckResult("V003", Outcome.FAILED, findings=(tree,)),)),
        drafts=drafts,
        about=text,
        tool="draft-zoo 0.1.0",
    )


def passed(name: str) -> Report:
    facts = {"recipe": name, "file": f"recipes/{name}.yaml"}
    return Report("header", facts, (CheckResult("C001", Outcome.PASSED),), tool="draft-zoo 0.1.0")
