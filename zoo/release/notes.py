"""notes.md: what changed since the closest lower version, in a few lines. A pure function, without wall-clock
times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from zoo.card.markdown import code, inline
from zoo.diff import words
from zoo.diff.model import ConfigChange, Diff
from zoo.digests import FileDigest
from zoo.recipe.model import Recipe
from zoo.release.changes import Changes, Number
from zoo.release.gates import Gate
from zoo.release.record import is_written
from zoo.results import Outcome

# A draft has 60 to 100 tensors; renaming all of them must not fill a page.
_ROWS = 40


def render_notes(
    recipe: Recipe,
    files: Mapping[str, FileDigest],
    since: Changes | None,
    higher: str | None,
    numbers: Sequence[Number],
    gates: Iterable[Gate],
    unchecked: Mapping[str, str],
    standin: bool,
) -> str:
    """The notes of a release whose declared ``files`` are compared with those of the closest lower version:
    ``since``, or None if there is none. ``higher`` is the highest version that was released before, if this
    one is below it."""
    lines = [f"# {recipe.name} {recipe.version}", ""]
    if standin:
        lines += ["**This is a stand-in: right names and shapes, no trained weights.**", ""]
    if since is None:
        lines += [
            f"No lower version was released; {higher} was." if higher else "First release.",
            "",
            *(f"- `{path}`: {_digest(file)}" for path, file in sorted(files.items())),
        ]
    else:
        lines += [f"Changes since {since.previous.version}:", ""]
        lines += [*_files(files, since.previous.files), *_facts(since), "", *_compared(since)]
    if numbers:
        lines += ["", "Accept length, as measured:", "", *(_number(each) for each in numbers)]
    lines += ["", "Gates:", "", *(_gate(gate, unchecked.get(gate.name, "")) for gate in gates)]
    return "\n".join(lines) + "\n"


def _facts(since: Changes) -> Iterator[str]:
    for change in since.facts:
        place = change.pointer.removeprefix("/").replace("/", " ")
        yield f"- {inline(place)}: {code(words.value(change.b))} (was {code(words.value(change.a))})"


def _compared(since: Changes) -> Iterator[str]:
    """Config and tensors, or why they were not compared."""
    diff, before = since.diff, since.previous.version
    if diff is None:
        yield f"Config and tensors were not compared with {before}: {inline(since.why)}."
        yield "The digests above are those of the manifests."
        return
    lines = [*_config(diff.config or ()), *_tensors(diff)]
    yield f"Config and tensors, by the headers of {inline(since.read_from)}:"
    yield ""
    yield from lines[:_ROWS] or ["- no difference: the same keys, names, shapes and dtypes"]
    if len(lines) > _ROWS:
        yield f"- and {len(lines) - _ROWS:,} more; see: zoo diff"
    for each in diff.not_compared:
        if each.part in ("config", "inventory"):
            yield f"- not compared: the {each.part} of one of the two cannot be understood"


def _config(found: Sequence[ConfigChange]) -> Iterator[str]:
    for title, changes in words.by_reader(found):
        for each in changes:
            said = f"- config {code(each.key)}: "
            if each.moved:
                yield f"{said}the same value at another place ({code(words.spelling(each))})"
            else:
                reader = title.removeprefix("config keys ")
                yield f"{said}{code(words.value(each.b))} (was {code(words.value(each.a))}; {reader})"


def _tensors(diff: Diff) -> Iterator[str]:
    found = diff.inventory
    if found is None:
        return
    for name, form in found.only_b.items():
        yield f"- tensor {code(name)}: new, {inline(words.form(form))}"
    for name, form in found.only_a.items():
        yield f"- tensor {code(name)}: removed (was {inline(words.form(form))})"
    for pair in found.pairs:
        if pair.renamed:
            yield f"- tensor {code(pair.name_b)}: was called {code(pair.name_a)}"
        if not pair.same_form:
            was = inline(words.form(pair.a))
            yield f"- tensor {code(pair.name_b)}: {inline(words.form(pair.b))} (was {was})"
    for change in found.metadata:
        place = code(change.pointer)
        yield f"- header {place}: {code(words.value(change.b))} (was {code(words.value(change.a))})"


def _number(number: Number) -> str:
    before = "" if number.before is None else f" (was {number.before:.2f}, measured alike)"
    return f"- {inline(number.what)}: {number.accept_length:.2f}{before}; evidence {code(number.record)}"


def _files(files: Mapping[str, FileDigest], before: Mapping[str, FileDigest]) -> Iterator[str]:
    for path in sorted(files.keys() | before.keys()):
        if is_written(path):
            continue
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
