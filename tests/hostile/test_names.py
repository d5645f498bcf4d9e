"""Names of files that collide, are reserved, or look like others."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from tests.ci.example import Work
from tests.hostile.kit import Judged, judge

CARDS, DRAFT = "release/fourth/1.0.0", "drafts/fourth"
REFUSED = [
    *("con", "CON.txt", "aux.txt", "nul", "prn.json", "com1", "LPT9.md", "COM\u00b9"),
    *(
        "dot.",
        "space ",
        "a:b",
        "a*b",
        "a?b",
        "a|b",
        "<b>",
        'a"b',
        "back\\slash",
        "::error::x",
        "%0a::error::",
    ),
    *(
        "new\nline",
        "return\rx",
        "tab\tx",
        "escape\x1b[31m",
        "right\u202eleft",
        "zero\u200bwidth",
        "byte\udcff",
    ),
]
# Odd, but every system can keep and show them; nothing takes them for more than names.
HARMLESS = ["-x", "--upload-pack=touch", "$(id)", "`id`", ";id", "&amp;", "a'b", "~", "#1", "x" * 250]
# Pairs of which macOS or Windows keeps one.
COLLIDING = [
    ("recipes/fourth.yaml", "recipes/Fourth.yaml"),
    (f"{CARDS}/README.md", f"{CARDS}/readme.md"),
    (f"{CARDS}/README.md", f"{CARDS.replace('fourth', 'FOURTH')}/README.md"),
    ("recipes/fourth.yaml", "Recipes/other.yaml"),
    ("zoo.toml", "Zoo.toml"),
    ("recipes/\u00e9.yaml", "recipes/e\u0301.yaml"),
    ("recipes/k.yaml", "recipes/\u212a.yaml"),  # the sign of Kelvin
]


def v014(result: Judged) -> set[str]:
    """The files that V014 names."""
    return {
        finding["where"]["file"]
        for each in result.result["tree"]["results"]
        for finding in each["findings"]
        if each["code"] == "V014"
    }


@pytest.mark.parametrize(("folder", "start"), [(CARDS, 0), (DRAFT, 1), ("templates", 2)])
def test_reserved_and_hidden_names_are_refused(clones: Callable[[], Work], folder: str, start: int) -> None:
    work = clones()
    names = REFUSED[start::3]  # of more than ten of a rule the rest is counted, not shown
    for name in (*names, *HARMLESS):
        work.write(f"{folder}/{name}", "x")
    result = judge(work, commit=False)
    assert v014(result) == {f"{folder}/{name}" for name in names}
    assert result.exit == 1


def test_a_recipe_of_a_reserved_name_is_refused(clones: Callable[[], Work]) -> None:
    work = clones()
    names = ["con", "new\nline", "right\u202eleft", "a:b"]
    for name in (*names, "-x", "\u0441"):  # the last one is Cyrillic
        work.write(f"recipes/{name}.yaml", work.read("recipes/fourth.yaml"))
    result = judge(work, commit=False)
    assert v014(result) == {f"recipes/{name}.yaml" for name in names}
    assert result.codes["-x"] == result.codes["\u0441"] == {"R011"}  # which name is not the file's


@pytest.mark.parametrize(("one", "other"), COLLIDING)
def test_names_that_differ_only_in_case_or_form_are_refused(
    clones: Callable[[], Work], one: str, other: str
) -> None:
    work = clones()
    for path in (one, other):
        if not (work.root / path).exists():
            work.write(path, "x: 1\n")
    result = judge(work)
    assert other in v014(result)
    assert result.exit == 1


def test_names_in_a_checkpoint_that_collide_are_refused(clones: Callable[[], Work]) -> None:
    work = clones()
    work.write(f"{DRAFT}/Config.json", "{}")
    assert judge(work).codes == {"fourth": {"X003"}}


def test_a_folder_called_git_is_never_taken_for_one_of_the_zoo(clones: Callable[[], Work]) -> None:
    """Git refuses such names, but a tree can be made by hand."""
    work = clones()

    def git(*args: str, text: bytes = b"") -> str:
        ran = subprocess.run(["git", *args], cwd=work.root, input=text, capture_output=True, check=True)
        return ran.stdout.decode().strip()

    blob = git("hash-object", "-w", "--stdin", text=b"[core]\n")
    below = git("mktree", text=f"100644 blob {blob}\tconfig\n".encode())
    top = work.git("ls-tree", "HEAD").encode()
    for name in (".git", "..", "."):
        tree = git("mktree", text=top + f"040000 tree {below}\t{name}\n".encode())
        commit = work.git("commit-tree", tree, "-p", "HEAD", "-m", name).strip()
        work.git("update-ref", "refs/heads/made", commit)
        work.git("update-ref", "refs/heads/change", commit)
        assert judge(work, commit=False).exit == 0
        judge(work, base="made", commit=False)  # and as the base, from which files are read
    assert not (work.root.parent / "config").exists()
