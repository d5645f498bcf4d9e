"""Paths out of the zoo, links, submodules and special files, wherever a pull request can put or name one.

What lies outside has a word in it that no output may repeat; that it is not read, ``judge`` checks.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ci.example import SIGNERS, Work
from tests.ci.history import RECORD
from tests.hostile.kit import Judged, each, judge, recipe_of, refused
from tests.release.tiny_zoo import make_checkpoint

WORD = "CANARY-0b1e5"
PUBLISHED = "release/tiny/1.0.0"
# Field of the recipe, as it is written in it -> codes of every path below that is no name.
FIELDS = {
    "target: fourth-target": "R008",
    "serve: [sglang-fourth]": "R008",
    "manifest: tiny.training.json": "R008",
    "report.pdf: document": "R008",
    "version: 1.0.0": "R008",
    "repo: zoo-tests/{}": "R008",
}
PATHS = ["../../outside", "/etc/passwd", "~/x", "%2e%2e/x", "file:///etc"]


@pytest.fixture
def outside(example: Work, tmp_path: Path) -> Path:
    """What an attacker would like to have read: a draft, and files of all kinds."""
    make_checkpoint(example.root, tmp_path / "draft")
    for name in ("secret.yaml", "secret.json", "log.jsonl", "zoo.toml", "card.md.j2", "alice.pub"):
        (tmp_path / name).write_text(f'{{"{WORD}": 1}}\n')
    return tmp_path


def hidden(result: Judged) -> Judged:
    for form, output in result.forms.items():
        assert WORD not in output, form
    return result


def link(work: Work, path: str, to: Path | str) -> None:
    """A link in place of a file or folder."""
    place = work.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(to)


@pytest.fixture(scope="module")
def named(clones: Callable[[], Work]) -> Judged:
    """Every path in every field, each in a recipe of its own."""
    work = clones()
    for field, written in enumerate(FIELDS):
        for number, path in enumerate(PATHS):
            name = f"f{field}-{number}"
            old = written.format(name)
            key, _, value = old.partition(": ")
            new = f"'{path}': document" if value == "document" else f"{key}: '{path}'"
            recipe_of(work, name, (old, f"serve: ['{path}']" if key == "serve" else new))
    return judge(work)


@pytest.mark.parametrize("field", FIELDS)
def test_no_field_takes_a_path_where_a_name_belongs(named: Judged, field: str) -> None:
    recipes = [f"f{list(FIELDS).index(field)}-{number}" for number in range(len(PATHS))]
    assert {name: named.codes[name] for name in recipes} == each(recipes, FIELDS[field])


def test_a_source_outside_of_the_zoo_is_not_looked_into(clones: Callable[[], Work], outside: Path) -> None:
    work = clones()
    sources = [
        str(outside / "draft"),
        "../../outside",
        "./drafts/../../../x",
        "//evil.example/x",
        "/proc/self/cwd",
    ]
    for number, source in enumerate(sources):
        recipe_of(work, f"f{number}", ("./drafts/fourth", source))
    refused_ = ["~/draft", "~root/x", "%2e%2e/x", "..\\x", "file:///etc", "drafts/fourth/../../.."]
    for number, source in enumerate(refused_):
        recipe_of(work, f"g{number}", ("./drafts/fourth", f"'{source}'"))
    result = hidden(judge(work))
    assert result.reasons.count("a pull request may name only what is in it") >= len(sources)
    assert {name: codes for name, codes in result.codes.items() if name[0] == "f"} == {
        f"f{number}": {"K001"} for number in range(len(sources))
    }
    assert {name: codes for name, codes in result.codes.items() if name[0] == "g"} == {
        f"g{number}": {"R008"} for number in range(len(refused_))
    }


def test_the_key_of_a_signer_may_not_lie_outside(
    clones: Callable[[], Work], outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = clones()
    key = SIGNERS.format("alice").replace("keys/alice.pub", str(outside / "alice.pub"))
    work.write("zoo.toml", work.read("zoo.toml") + key)
    assert hidden(judge(work)).codes == {"": {"V011"}}
    work.git("branch", "merged")  # as if somebody had merged it: the next change needs the key
    work.sign(work.record("second", "other"))
    assert refused(work, base="merged") == 2
    said = capsys.readouterr().err
    assert 'the key of signer "alice" is outside of the zoo, or a link' in said
    assert WORD not in said


# Where a link is put, what it leads to, and the codes that it gets.
OF_ZOO = {"fourth", "second", "third", "tiny"}
LINKS: dict[str, tuple[str, dict[str, set[str]]]] = {
    "recipes/fourth.yaml": ("secret.yaml", {"fourth": {"X010"}}),
    "recipes/targets/fourth-target.yaml": ("secret.yaml", {"fourth": {"X010"}}),
    "recipes/profiles/sglang-fourth.yaml": ("secret.yaml", {"fourth": {"X010"}}),
    "recipes/tiny.training.json": ("secret.json", each(OF_ZOO, "R030")),
    "recipes": ("", {}),
    "recipes/targets": ("", each(OF_ZOO, "R009")),
    "drafts": ("", {}),
    "drafts/fourth": ("draft", {}),
    "drafts/fourth/config.json": ("draft/config.json", {"fourth": {"X001", "F002"}}),
    "drafts/fourth/model.safetensors": ("/dev/zero", {"fourth": {"X001", "F002"}}),
    "drafts/fourth/report.pdf": ("/etc/passwd", {"fourth": {"X001", "F002"}}),
    "templates": ("", each(OF_ZOO - {"tiny"}, "K001")),
    "templates/card.md.j2": ("card.md.j2", each(OF_ZOO - {"tiny"}, "K001")),
    RECORD: ("secret.json", {"second": {"K005", "K004"}}),
    "release/second/0.1.0/evidence": ("", {"second": {"K001", "K004", "V021"}}),
    "release/fourth/1.0.0/README.md": ("secret.json", {}),
    "release/fourth": ("", {"": {"V006"}}),
    "release": ("", {"": {"V003", "V004", "V006"}, "second": {"K004", "V021"}}),
    "release/tiny/log.jsonl": ("log.jsonl", {"": {"V004"}}),
    f"{PUBLISHED}/manifest.json": ("secret.json", {"": {"V003"}}),
    f"{PUBLISHED}/README.md": ("secret.json", {"": {"V003"}}),
}


@pytest.mark.parametrize("path", LINKS)
def test_a_link_in_a_pull_request_is_named_and_not_followed(
    clones: Callable[[], Work], outside: Path, path: str
) -> None:
    to, codes = LINKS[path]
    work = clones()
    link(work, path, outside / to)
    result = hidden(judge(work))
    assert result.codes == codes | {"": {"V013"} | codes.get("", set())}
    assert result.exit == 1


def test_links_of_signatures_and_keys_are_not_followed(clones: Callable[..., Work], outside: Path) -> None:
    work = clones("signed")
    link(work, f"{RECORD}.sig", outside / "secret.json")
    link(work, "keys/alice.pub", outside / "alice.pub")
    result = hidden(judge(work, base="signed"))
    assert result.codes == {"": {"V011", "V013"}, "second": {"V008", "K001", "K004"}}


@pytest.mark.parametrize("to", ["../fourth", "fifth", "fourth.yaml", "../checkpoint"])
def test_a_link_within_the_zoo_or_to_itself_is_named_too(clones: Callable[[], Work], to: str) -> None:
    work = clones()
    if to == "../checkpoint":
        link(work, "drafts/fourth", to)
    else:
        link(work, "recipes/fifth.yaml", to if to != "fifth" else "fifth.yaml")
    result = judge(work)
    assert "V013" in result.codes[""]
    assert result.exit == 1


def test_settings_that_are_a_link_are_refused(
    clones: Callable[[], Work], outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = clones()
    link(work, "zoo.toml", outside / "zoo.toml")
    work.commit()
    assert refused(work) == 2
    said = capsys.readouterr().err
    assert "zoo.toml: cannot be read (a link that leads out of its folder)" in said
    assert WORD not in said


@pytest.mark.parametrize(
    "path", ["recipes/sub", "recipes/fifth.yaml", "drafts/fourth/sub", "drafts", "templates"]
)
def test_a_submodule_is_named_and_not_entered(clones: Callable[[], Work], path: str) -> None:
    work = clones()
    if (work.root / path).exists():
        work.git("rm", "-rq", path)
    work.git("update-index", "--add", "--cacheinfo", f"160000,{work.git('rev-parse', 'HEAD').strip()},{path}")
    work.write(".gitmodules", f'[submodule "x"]\n\tpath = {path}\n\turl = https://169.254.169.254/x\n')
    work.git("add", ".gitmodules")
    work.git("commit", "-qm", "change")
    result = judge(work, commit=False)
    assert "V013" in result.codes[""]
    assert result.exit == 1


# No FIFO can be in git, but in a work tree.
FIFOS = {
    "recipes/fourth.yaml": {},
    "recipes/targets/fourth-target.yaml": {"fourth": {"R009"}},
    "recipes/tiny.training.json": each(OF_ZOO, "R030"),
    "drafts/fourth/config.json": {"fourth": {"F002", "X002"}},
    "drafts/fourth/model.safetensors": {"fourth": {"F002", "X002"}},
    RECORD: {"second": {"K004", "K005"}},
    "release/tiny/log.jsonl": {"": {"V004"}},
}


@pytest.mark.parametrize("path", FIFOS)
def test_a_fifo_blocks_nobody(clones: Callable[[], Work], path: str) -> None:
    work = clones()
    work.remove(path)
    os.mkfifo(work.root / path)
    codes: dict[str, set[str]] = FIFOS[path]
    assert judge(work, commit=False).codes == codes | {"": {"V013"} | codes.get("", set())}


def test_fifos_that_git_does_not_list_are_not_opened(
    clones: Callable[[], Work], capsys: pytest.CaptureFixture[str]
) -> None:
    work = clones()
    (work.root / "templates").mkdir()
    for path in ("recipes/fifth.yaml", "templates/card.md.j2", "drafts/fourth/pipe"):
        os.mkfifo(work.root / path)
    work.edit("recipes/fourth.yaml", "block_size: 4", "block_size: 4 # as trained")
    result = judge(work, commit=False)
    assert result.codes["fourth"] >= {"X002"}
    work.remove("zoo.toml")
    os.mkfifo(work.root / "zoo.toml")
    assert refused(work) == 2
    assert "zoo.toml: cannot be read (not a regular file)" in capsys.readouterr().err


def test_a_socket_in_the_checkpoint_is_not_opened(
    clones: Callable[[], Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = clones()
    work.remove("drafts/fourth/config.json")
    monkeypatch.chdir(work.root / "drafts" / "fourth")  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("config.json")
        assert judge(work, commit=False).codes == {"": {"V013"}, "fourth": {"F002", "X002"}}
