"""notes.md: what changed since the closest lower version, in a few lines. A pure function, without wall-clock
times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from zoo.card.markdown import inline
from zoo.digests import FileDigest
from zoo.recipe.model import Recipe
from zoo.release.gates import Gate
from zoo.release.manifest import Manifest
from zoo.results import Outcome


def render_notes(
    recipe: Recipe,
    files: Mapping[str, FileDigest],
    previous: Manifest | None,
    higher: str | None,
    gates: Iterable[Gate],
    unchecked: Mapping[str, str],
    standin: bool,
) -> str:
    """The notes of a release whose declared ``files`` are compared with those of ``previous``, the closest
    lower version. ``higher`` is the highest version that was released before, if this one is below it."""
    lines = [f"# {recipe.name} {recipe.version}", ""]
    if standin:
        lines += ["**This is a stand-in: right names and shapes, no trained weights.**", ""]
    if previous is None:
        lines += [
            f"No lower version was released; {higher} was." if higher else "First release.",
            "",
            *(f"- `{path}`: {_digest(file)}" for path, file in sorted(files.items())),
        ]
    else:
        lines += [f"Changes since {previous.version}:", "", *_changes(files, previous.files)]
    lines += ["", "Gates:", "", *(_gate(gate, unchecked.get(gate.name, "")) for gate in gates)]
    return "\n".join(lines) + "\n"


def _changes(files: Mapping[str, FileDigest], before: Mapping[str, FileDigest]) -> Iterator[str]:
    written = {"README.md", "notes.md"}
    for path in sorted((files.keys() | before.keys()) - written):
        if path not in files:
            yield f"- `{path}`: removed"
        elif path not in before:
            yield f"- `{path}`: new, {_digest(files[path])}"
        elif files[path] == before[path]:
            yield f"- `{path}`: unchanged"
        else:
            yield f"- `{path}`: changed, {_digest(files[path])} (was {_digest(before[path])})"


def _digest(file: FileDigest) -> str:
    return f"sha256 {file.sha256[:12]}…, {file.size:,} bytes"


def _gate(gate: Gate, unchecked: str) -> str:
    if gate.outcome is Outcome.PASSED:
        return f"- {gate.name}: passed" + (f": {inline(gate.reason)}" if gate.reason else "")
    word = "failed" if gate.outcome is Outcome.FAILED else "not checked"
    return f"- {gate.name}: {word}: {inline(unchecked or gate.reason)}"
