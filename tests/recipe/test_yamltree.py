"""The strict YAML reader: what it refuses, and where it says so."""

from __future__ import annotations

import pytest

from zoo.recipe.yamltree import Mapping, Scalar, parse


def codes(text: str | bytes) -> list[tuple[str, int | None, int | None]]:
    raw = text.encode() if isinstance(text, str) else text
    return [(f.code, f.where.line, f.where.column) for f in parse(raw, "recipe.yaml")[1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1\n", ("R001", 2, 1)),
        ("- a\n", ("R001", 1, 1)),
        ("", ("R001", 1, 1)),
        (b"a: \xff\n", ("R001", None, None)),
        ("a: \x07\n", ("R001", None, None)),
        ("a: &x 1\n", ("R002", 1, 4)),
        ("a: !!python/object/apply:os.system [id]\n", ("R002", 1, 4)),
        ("a: !x 1\n", ("R002", 1, 4)),
        ("a: 1\n---\nb: 1\n", ("R002", 2, 1)),
        ("? [a, b]\n: 1\n", ("R002", 1, 3)),
        ("a:\n  <<: {b: 1}\n", ("R002", 2, 3)),
        ("a: .nan\n", ("R003", 1, 4)),
        ("a: -.inf\n", ("R003", 1, 4)),
        ("a: 1e999\n", ("R003", 1, 4)),
        ("a: " + "[" * 30 + "]" * 30 + "\n", ("R003", 1, 24)),
        ("a: 1\nb: 2\na: 3\n", ("R004", 3, 1)),
    ],
)
def test_what_recipes_do_not_use_is_refused_at_its_place(
    text: str | bytes, expected: tuple[str, int | None, int | None]
) -> None:
    assert codes(text) == [expected]


def test_a_yaml_bomb_is_refused_at_its_first_anchor_and_never_expanded() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 30)]
    found = codes("\n".join(lines))
    assert found[0] == ("R002", 1, 5)
    assert {code for code, _, _ in found} == {"R002"}


def test_a_file_of_more_than_256_kib_is_not_parsed() -> None:
    assert codes("a: " + "x" * 300_000)[0][0] == "R003"


def test_deep_nesting_ends_in_a_finding_not_in_a_crash() -> None:
    assert codes("[" * 100_000)[0][0] in ("R001", "R003")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("1e-5", 1e-5),
        ("1.0", 1.0),
        (".5", 0.5),
        ("true", True),
        ("null", None),
        ("~", None),
        ("yes", "yes"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("2026-11-30", "2026-11-30"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("1" * 40, "1" * 40),
    ],
)
def test_scalars_resolve_by_the_core_schema_of_yaml_1_2(text: str, value: object) -> None:
    tree, findings = parse(f"a: {text}\n".encode(), "f")
    assert not findings
    assert isinstance(tree, Mapping)
    node = tree.entries["a"]
    assert isinstance(node, Scalar)
    assert node.value == value
    assert type(node.value) is type(value)


def test_keys_keep_their_places() -> None:
    tree, _ = parse(b"# comment\na:\n  b: 1\n", "f")
    assert isinstance(tree, Mapping)
    inner = tree.entries["a"]
    assert isinstance(inner, Mapping)
    assert (inner.keys["b"].line, inner.keys["b"].column) == (3, 3)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("title: a: b\n", 'quote the text if it holds ": ", or mend the indentation'),
        ("a:\n\tb: 1\n", "indent with spaces, not with tabs"),
        ("a: [1\n", "mend the YAML at this place"),
    ],
)
def test_the_two_slips_that_everybody_makes_are_met_with_their_cure(text: str, hint: str) -> None:
    _, (finding,) = parse(text.encode(), "a.yaml")
    assert (finding.code, finding.hint) == ("R001", hint)
