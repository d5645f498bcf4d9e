"""R rules: the recipe itself. R001 to R013 are found while it is read; the rest are about what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zoo.printable import quoted
from zoo.recipe.data import DataManifests
from zoo.recipe.model import UNKNOWN
from zoo.recipe.validate import pointer
from zoo.results import Finding, Severity, Where
from zoo.rules.registry import reported, rule
from zoo.rules.subject import Subject

RECIPE = ("recipe_file",)


@reported("R001", "not-yaml", needs=RECIPE)
def not_yaml() -> None:
    """The recipe is not YAML.

    What it does: parses recipe, target and profile files as YAML 1.2 in UTF-8.
    Why is this bad: nothing can be checked against a recipe that cannot be read.
    Example: an unclosed bracket.
    Use instead: mend the place that the finding names.
    Since: 0.1.0
    """


@reported("R002", "yaml-feature", needs=RECIPE)
def yaml_feature() -> None:
    """The recipe uses a part of YAML that recipes do not use.

    What it does: refuses anchors, aliases, merge keys, tags, keys that are not text, and a second document.
    Why is this bad: they hide from a reviewer what a value is, and they are how YAML bombs are built.
    Example: draft: &d {layers: 6}.
    Use instead: plain values; extends: NAME to share them.
    Since: 0.1.0
    """


@reported("R003", "yaml-limits", needs=RECIPE)
def yaml_limits() -> None:
    """The recipe is too large, too deep, or has a number that is not finite.

    What it does: limits a file to 256 KiB, 20 levels and 10,000 keys and values, and refuses .inf, .nan and
    overflowing numbers.
    Why is this bad: a recipe is read by people; data belongs elsewhere.
    Example: factor: .inf.
    Use instead: finite numbers, and files beside the recipe for data.
    Since: 0.1.0
    """


@reported("R004", "duplicate-key", needs=RECIPE)
def duplicate_key() -> None:
    """A key is given twice.

    What it does: finds duplicate keys in any mapping.
    Why is this bad: most readers of YAML keep the last one silently; a reviewer sees the first.
    Example: block_size: 8 and, further down, block_size: 16.
    Use instead: one of the two.
    Since: 0.1.0
    """


@reported("R005", "unknown-key", needs=RECIPE)
def unknown_key() -> None:
    """A key that recipes do not have.

    What it does: compares every key with the schema and names the closest one.
    Why is this bad: a misspelt key is silently nothing.
    Example: blocksize: 8.
    Use instead: the key that the finding suggests.
    Since: 0.1.0
    """


@reported("R006", "missing-key", needs=RECIPE)
def missing_key() -> None:
    """A key that every recipe needs is missing.

    What it does: requires the keys of the schema.
    Why is this bad: what is not stated cannot be contradicted.
    Example: no block_size.
    Use instead: the value, or the word unknown where that is allowed.
    Since: 0.1.0
    """


@reported("R007", "wrong-value", needs=RECIPE)
def wrong_value() -> None:
    """A value has the wrong type or is not one of those allowed.

    What it does: checks types, choices and bounds.
    Why is this bad: the rest of the tool would work with a guess.
    Example: layers: six.
    Use instead: what the finding says is expected.
    Since: 0.1.0
    """


@reported("R008", "bad-name", needs=RECIPE)
def bad_name() -> None:
    """A name, version, repository id, path or digest is not well formed.

    What it does: checks names against strict patterns, so that nothing leaves its folder.
    Why is this bad: names become folders, tags and addresses.
    Example: version: 1.0; name: ../x.
    Use instead: version: 1.0.0; lower-case names without slashes.
    Since: 0.1.0
    """


@reported("R009", "no-such-reference", needs=RECIPE)
def no_such_reference() -> None:
    """The recipe names a target or profile that the zoo does not have.

    What it does: looks for recipes/targets/NAME.yaml and recipes/profiles/NAME.yaml.
    Why is this bad: without them there is no launch command and nothing to compare with.
    Example: target: kimi-k2 when the file is kimi-k2.7-code.yaml.
    Use instead: the name of a file, or write the file.
    Since: 0.1.0
    """


@reported("R010", "extends", needs=RECIPE)
def extends() -> None:
    """extends names no recipe, or goes in a circle.

    What it does: follows extends for at most 8 steps.
    Why is this bad: the merged recipe does not exist.
    Example: a extends b, b extends a.
    Use instead: one chain that ends.
    Since: 0.1.0
    """


@reported("R011", "file-name", needs=RECIPE)
def file_name() -> None:
    """The name in the file is not the name of the file.

    What it does: compares name with the file name.
    Why is this bad: commands find recipes by file name, releases are named by name.
    Example: name: kimi-ft-v2 in kimi-ft-v3.yaml.
    Use instead: the same name in both.
    Since: 0.1.0
    """


@reported("R012", "assumed-pointer", needs=RECIPE)
def assumed_pointer() -> None:
    """draft.assumed points at nothing.

    What it does: each entry must be a JSON pointer to a key below draft.
    Why is this bad: the card would not say what was assumed.
    Example: assumed: [/ropes].
    Use instead: assumed: [/rope].
    Since: 0.1.0
    """


@reported("R013", "claim-source", needs=RECIPE)
def claim_source() -> None:
    """A claim says measured without evidence, or reported with it.

    What it does: a measured claim names its evidence file and has no text; a reported one is free.
    Why is this bad: the card prints measured numbers differently from reported ones.
    Example: source: measured without evidence.
    Use instead: evidence: NAME, or source: reported.
    Since: 0.1.0
    """


@reported("R014", "waiver-refused", needs=RECIPE)
def waiver_refused() -> None:
    """A waiver names a rule that cannot be waived.

    What it does: lets warnings be waived, and errors about the base draft (B), an engine's hazard (E) or a
    launch command (L); refuses every other error, and codes that do not exist.
    Why is this bad: a draft with such a finding is broken, and a waiver would release it as checked.
    Example: {code: D001, reason: we know, until: 2027-01-01}.
    Use instead: a mended checkpoint.
    Since: 0.1.0
    """


@reported("R017", "family-part", needs=RECIPE)
def family_part() -> None:
    """The draft section does not fit the family.

    What it does: a block size and a mask token belong to DFlash and the families built on it, and so do aux
    layers that are known; an EAGLE3 draft has no block, and may leave its aux layers to the engine.
    Why is this bad: the config that follows from the recipe would hold keys that nobody reads, or lack one
    that engines then guess.
    Example: family: eagle3 with block_size: 8.
    Use instead: the parts of the family, or the right family.
    Since: 0.1.0
    """


@reported("R016", "todo", needs=RECIPE)
def todo() -> None:
    """A value is still the word TODO.

    What it does: looks for TODO in every value of recipe, target file and profile.
    Why is this bad: zoo adopt writes it for what only a person can say, and nobody has said it yet.
    Example: title: TODO.
    Use instead: the value.
    Since: 0.1.0
    """


@rule("R020", "unknown-value", severity=Severity.WARNING, needs=("recipe",))
def unknown_value(subject: Subject) -> Iterable[Finding]:
    """A value is unknown.

    What it does: lists every value of recipe and target that is the word unknown.
    Why is this bad: it is not, if it is true; the card repeats it, so that nobody takes silence for
    knowledge.
    Example: amplitude_as_trained: unknown.
    Use instead: the value, as soon as somebody knows it.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    for owner in (subject.recipe, subject.recipe.target):
        for path in _unknowns(owner.data, ()):
            # Unpinned revisions have a rule of their own.
            if path[-1] != "revision":
                name = ".".join(map(str, path))
                yield Finding(
                    f"{name} is unknown",
                    "find it out; the card says so until then",
                    owner.where(pointer(path)),
                )


@rule("R021", "unpinned-revision", severity=Severity.WARNING, needs=("recipe",))
def unpinned_revision(subject: Subject) -> Iterable[Finding]:
    """A model of another repository is not pinned to a commit.

    What it does: wants a 40-hex revision for the target, its served copy and the base draft, unless they
    are folders of this zoo.
    Why is this bad: weights behind a name do change; the draft was trained for one revision of its target.
    Example: revision: main.
    Use instead: revision: followed by the commit that was used.
    Sources: noonghunna/club-3090#319; fw-ai/cookbook#449.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    recipe = subject.recipe
    places: list[tuple[Mapping[str, Any], Where, str]] = [
        (recipe.target.data, recipe.target.where("/revision"), "the target"),
    ]
    if "served_as" in recipe.target.data:
        places.append(
            (recipe.target.data["served_as"], recipe.target.where("/served_as/revision"), "the served target")
        )
    if recipe.base is not None:
        places.append((recipe.data["base"], recipe.where("/base/revision"), "the base draft"))
    for data, where, what in places:
        revision = data.get("revision", UNKNOWN)
        pinned = len(revision) == 40 and set(revision) <= set("0123456789abcdef")
        if not pinned and data["repo"] != UNKNOWN and not data["repo"].startswith("./"):
            yield Finding(
                f"{what} {quoted(data['repo'])} is not pinned: revision is {quoted(revision)}",
                "write the 40-hex commit that the draft was trained and measured with",
                where,
            )


@rule("R022", "assumed-value", severity=Severity.WARNING, needs=("recipe",))
def assumed_value(subject: Subject) -> Iterable[Finding]:
    """A value was taken from elsewhere, not from the draft's own training run.

    What it does: lists draft.assumed.
    Why is this bad: it is checked like any other value, but nobody has confirmed it; the card says so.
    Example: assumed: [/rope].
    Use instead: the value of the training run, then remove the entry.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    for index, each in enumerate(subject.recipe.draft.assumed):
        where = subject.recipe.where(f"/draft/assumed/{index}")
        yield Finding(f"draft{each.replace('/', '.')} is assumed", "confirm it with the training run", where)


@rule("R025", "stated-not-checked", severity=Severity.WARNING, needs=("recipe",))
def stated_not_checked(subject: Subject) -> Iterable[Finding]:
    """The recipe states something that this run cannot check.

    What it does: lists base.unchanged_tensors without the base draft or its bytes, tokenizer.sha256 without
    the target's tokenizer.json, and entries of training.data.disjoint_from without two data manifests.
    Why is this bad: it is not; but nobody has looked, and a statement must not pass for a check.
    Example: disjoint_from: [SPEED-Bench].
    Use instead: give what it is compared with: zoo verify NAME --deep --base FOLDER --target FOLDER, and data
    manifests.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    recipe, target = subject.recipe, subject.recipe.target
    if recipe.base is not None and recipe.base.unchanged_tensors and subject.unchanged is None:
        folder = "" if recipe.base.repo.startswith("./") else " --base FOLDER"
        hint = f"zoo verify {recipe.name} --deep{folder} compares it"
        yield _unchecked(recipe.where("/base/unchanged_tensors"), hint)
    for entry in (subject.data or DataManifests()).unchecked(recipe):
        hint = "write {name: ..., manifest: FILE}, and training.data.manifest; or check it by hand"
        yield _unchecked(recipe.where(entry), hint)
    if target.data.get("tokenizer", {}).get("sha256", UNKNOWN) != UNKNOWN and subject.tokenizer is None:
        hint = f"zoo verify {recipe.name} --target FOLDER compares it"
        yield _unchecked(target.where("/tokenizer/sha256"), hint)


def _unchecked(where: Where, hint: str) -> Finding:
    name = (where.pointer or "").lstrip("/").replace("/", ".")
    return Finding(f"{name} is stated and not checked", hint, where)


@rule("R023", "expired-waiver", severity=Severity.WARNING, needs=("recipe",))
def expired_waiver(subject: Subject) -> Iterable[Finding]:
    """A waiver has expired.

    What it does: compares until with today.
    Why is this bad: the finding that it covered counts again.
    Example: until: 2026-01-31, a year later.
    Use instead: mend the cause, or renew the waiver with a reason.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    for index, waiver in enumerate(subject.recipe.waivers):
        if waiver.until < subject.today:
            where = subject.recipe.where(f"/waivers/{index}/until")
            yield Finding(
                f"the waiver of {waiver.code} ended on {waiver.until}", "mend the cause, or renew it", where
            )


def _unknowns(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if value == UNKNOWN:
        yield path
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _unknowns(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unknowns(inner, (*path, index))
