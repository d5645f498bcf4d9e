"""What was said of each mutation of a run, and the figures of it."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.drafts import VARIANTS, Variant
from tests.mutations.judge import Answer, Judge
from tests.mutations.mutate import KINDS, Mutation, mutations
from tests.mutations.visible import excuse

SEED = 1
COUNT = 6000
# What a person would call found: an error, or a refusal that names its cause.
FLAGGED = (Answer.ERROR, Answer.REFUSED)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One mutation, why it is no contradiction (None if it is one), and the answers with and without a
    recipe."""

    variant: str
    family: str
    kind: str
    words: str
    excuse: str | None
    with_recipe: Answer
    without_recipe: Answer

    @property
    def escaped(self) -> bool:
        return self.excuse is None and self.with_recipe not in FLAGGED


def chosen(variant: Variant, seed: int = SEED, count: int = COUNT) -> list[Mutation]:
    """The share of ``variant`` in a run of ``count`` mutations over all variants."""
    index, variants = list(VARIANTS).index(variant.name), len(VARIANTS)
    return mutations(variant, seed, count // variants + (index < count % variants))


def outcomes(variants: Iterable[Variant], seed: int = SEED, count: int = COUNT) -> Iterator[Outcome]:
    """Judge the mutations of these variants, in a temporary folder."""
    for variant in variants:
        with tempfile.TemporaryDirectory() as folder:
            judge = Judge(variant, Path(folder))
            for mutation in chosen(variant, seed, count):
                yield Outcome(
                    variant.name,
                    variant.family,
                    mutation.kind,
                    mutation.words,
                    excuse(variant, mutation.draft),
                    judge.with_recipe(mutation.draft),
                    judge.without_recipe(mutation.draft),
                )


HEADINGS = (
    "mutations",
    "excused",
    "contradict",
    "recipe: error",
    "recipe: could not be checked",
    "recipe: escaped",
    "alone: error",
    "alone: could not be checked",
    "alone: warning",
    "alone: unseen",
)


def row(found: Sequence[Outcome]) -> tuple[int, ...]:
    """The figures under HEADINGS. The answers are those to mutations that contradict the recipe."""
    contradict = [each for each in found if each.excuse is None]
    recipe = Counter(each.with_recipe for each in contradict)
    alone = Counter(each.without_recipe for each in contradict)
    return (
        len(found),
        len(found) - len(contradict),
        len(contradict),
        recipe[Answer.ERROR],
        recipe[Answer.REFUSED],
        sum(each.escaped for each in contradict),
        *(alone[answer] for answer in Answer),
    )


def table(
    title: str, found: Sequence[Outcome], key: Callable[[Outcome], str], names: Iterable[str]
) -> list[str]:
    """A Markdown table: a row for each of ``names`` and one for all."""
    groups = [(name, [each for each in found if key(each) == name]) for name in names]
    lines = [f"| {title} | " + " | ".join(HEADINGS) + " |", "|---|" + "---:|" * len(HEADINGS)]
    for name, group in [*groups, ("all", list(found))]:
        lines.append(f"| {name} | " + " | ".join(f"{figure:,}" for figure in row(group)) + " |")
    return lines


def figures(found: Sequence[Outcome]) -> str:
    """The tables of a run, in Markdown."""
    lines = table("draft", found, lambda each: each.variant, VARIANTS)
    lines += ["", *table("kind", found, lambda each: each.kind, KINDS)]
    lines += ["", "| excuse | mutations | recipe: error all the same | alone: error all the same |"]
    lines += ["|---|---:|---:|---:|"]
    excused = [each for each in found if each.excuse is not None]
    for reason, count in sorted(Counter(str(each.excuse) for each in excused).items()):
        group = [each for each in excused if each.excuse == reason]
        strict = sum(each.with_recipe in FLAGGED for each in group)
        alone = sum(each.without_recipe in FLAGGED for each in group)
        lines.append(f"| {reason} | {count:,} | {strict:,} | {alone:,} |")
    return "\n".join(lines) + "\n"
