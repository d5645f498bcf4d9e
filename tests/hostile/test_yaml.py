"""YAML that grows, calls, hides or contradicts itself, in the recipes of a pull request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ci.example import Work
from tests.hostile.kit import MARKER, Judged, each, judge, recipe_of

_PLAIN = "recipe: 1\nname: x\n"
_LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(30)
)
# The text of recipes/NAME.yaml, and the codes that it gets.
FILES: dict[str, tuple[str | bytes, set[str]]] = {
    "billion-laughs": (_LAUGHS, {"R002"}),
    "many-anchors": ("".join(f"k{n}: &a{n} x\n" for n in range(2_000)), {"R002"}),
    "python-tag": (f"title: !!python/object/apply:os.system ['touch {MARKER}']\n", {"R002"}),
    "python-name-tag": (f"title: !!python/object/new:os.system [touch {MARKER}]\n", {"R002"}),
    "custom-tag": ("title: !evil/Tag x\n", {"R002"}),
    "binary-tag": ("title: !!binary gASVIA==\n", {"R002"}),
    "merge-key": ("base: x\n<<: {title: x}\n", {"R002"}),
    "duplicate-key": (_PLAIN + "name: other\n", {"R004"}),
    "key-of-a-list": ("? [a, b]\n: x\n", {"R002"}),
    "two-documents": (_PLAIN + "---\n" + _PLAIN, {"R002"}),
    "deep-brackets": ("a: " + "[" * 100_000 + "]" * 100_000, {"R003"}),
    "deep-maps": ("".join(" " * n + "a:\n" for n in range(500)), {"R003"}),
    "three-megabytes": (_PLAIN + "title: " + "x" * 3_000_000, {"R003"}),
    "a-hundred-thousand-items": ("serve: [" + "a," * 100_000 + "]\n", {"R003"}),
    "latin-1": (b"name: caf\xe9\n", {"R001"}),
    "utf-16": (_PLAIN.encode("utf-16"), {"R001"}),
    "nul": (_PLAIN.encode() + b"title: a\0b\n", {"R001"}),
    "escape-beyond-unicode": ('title: "\\UFFFFFFFF"\n', {"R001"}),
    "half-a-surrogate": ('title: "\\ud800"\n', {"R003"}),
    "nothing": ("", {"R001"}),
    "a-list": ("- a\n", {"R001"}),
}


@pytest.fixture(scope="module")
def judged(clones: Callable[[], Work]) -> Judged:
    """All of them in one pull request."""
    work = clones()
    for name, (content, _) in FILES.items():
        work.write(f"recipes/{name}.yaml", content)
    recipe_of(work, "title-of-200-kilobytes", ("title: ", "title: " + "x" * 200_000))
    directive = "%TAG ! tag:evil.example,2000:\n---\nrecipe: 1\n"
    recipe_of(work, "other-tags-by-directive", ("recipe: 1\n", directive))
    recipe_of(work, "byte-order-mark")
    path = "recipes/byte-order-mark.yaml"
    work.write(path, b"\xef\xbb\xbf" + work.read(path).encode())
    return judge(work)


@pytest.mark.parametrize("name", FILES)
def test_a_recipe_that_is_not_plain_yaml_is_refused(judged: Judged, name: str) -> None:
    assert judged.codes[name] == FILES[name][1]
    assert (judged.verdicts[name], judged.exit) == ("failed", 1)


def test_a_huge_scalar_is_refused_and_cut_in_every_form(judged: Judged) -> None:
    assert judged.codes["title-of-200-kilobytes"] == {"R008"}
    for output in judged.forms.values():
        assert "x" * 3_000 not in output


@pytest.mark.parametrize("name", ["byte-order-mark", "other-tags-by-directive"])
def test_what_changes_no_meaning_is_read_as_if_it_was_not_there(judged: Judged, name: str) -> None:
    assert judged.codes[name] == {"K001"}  # there is no card yet; the recipe is good


def test_the_same_limits_hold_for_targets_and_profiles(clones: Callable[[], Work]) -> None:
    work = clones()
    work.write("recipes/targets/fourth-target.yaml", _LAUGHS)
    work.write("recipes/profiles/unused.yaml", _LAUGHS)
    result = judge(work)
    assert result.codes == {"": {"R002"}, "fourth": {"R002"}}
    assert result.exit == 1


def test_extends_in_a_circle_ends(clones: Callable[[], Work]) -> None:
    work = clones()
    for name, parent in (("a", "b"), ("b", "c"), ("c", "a"), ("self", "self")):
        work.write(f"recipes/{name}.yaml", f"extends: {parent}\n")
    result = judge(work)
    assert result.codes == each(["a", "b", "c", "self"], "R010")
    assert result.exit == 1


def test_a_long_chain_of_extends_ends(clones: Callable[[], Work]) -> None:
    work = clones()
    for number in range(12):
        work.write(f"recipes/c{number:02}.yaml", f"extends: c{number + 1:02}\n")
    work.write("recipes/c12.yaml", "recipe: 1\n")
    result = judge(work)
    assert {name for name, codes in result.codes.items() if codes == {"R010"}} == {
        f"c{number:02}" for number in range(4)
    }
    assert result.exit == 1


def test_a_wide_fan_of_extends_is_judged_once_each(clones: Callable[[], Work]) -> None:
    work = clones()
    recipe_of(work, "top", ("block_size: 4", "block_size: &bomb 4"))
    for number in range(15):
        work.write(f"recipes/f{number:02}.yaml", f"extends: top\nname: f{number:02}\n")
    result = judge(work)
    assert result.codes == each(["top", *(f"f{number:02}" for number in range(15))], "R002")


def test_extends_names_a_recipe_of_the_zoo_and_nothing_else(clones: Callable[[], Work]) -> None:
    parents = ["../../outside", "/etc/passwd", "[tiny, second]", "{a: b}", '"tiny\\0"', "x" * 300]
    work = clones()
    for number, parent in enumerate(parents):
        work.write(f"recipes/e{number}.yaml", f"extends: {parent}\n")
    assert judge(work).codes == {f"e{number}": {"R010"} for number in range(len(parents))}
