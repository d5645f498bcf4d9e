"""Settings of a zoo: what is wrong in them is one error that names the file and the key."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.errors import NotAZooError, SettingsError
from zoo.workspace import find_zoo


def test_settings_are_found_upwards_in_either_file(tmp_path: Path) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    (tmp_path / "pyproject.toml").write_text('[tool.zoo]\npublish_to = "dir:p"\n')
    found = find_zoo(inside)
    assert (found.root, found.publish_to) == (tmp_path, "dir:p")
    (tmp_path / "a" / "zoo.toml").write_text("")
    found = find_zoo(inside)
    assert (found.root, found.publish_to) == (tmp_path / "a", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tool = 5", "tool is not a table"),
        ("[tool]\nzoo = 5", "tool.zoo is not a table"),
        ("[[tool.zoo]]\npublish_to = 'dir:x'", "tool.zoo is not a table"),
        ("[tool.zoo]\npublish = 'dir:x'", 'unknown setting "publish"'),
        ("[tool.zoo]\npublish_to = 5", "setting publish_to is not one line of text"),
        ('[tool.zoo]\npublish_to = "dir:\\u0000x"', "setting publish_to is not one line of text"),
        ('[tool.zoo]\npublish_to = "dir:\\u202ex"', "setting publish_to is not one line of text"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("a = " + "1" * 5000, "not TOML: Exceeds the limit"),
        ("a = ", "not TOML: Invalid value"),
        ("a = '\udcff'", "not TOML: 'utf-8' codec"),
        ("#" * 300_000, "larger than 262,144 bytes"),
    ],
)
def test_settings_that_cannot_be_used_are_named_with_file_and_key(
    tmp_path: Path, text: str, expected: str
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SettingsError) as caught:
        find_zoo(tmp_path)
    assert caught.value.message.startswith(f"{file}: {expected}")
    assert caught.value.hint


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(path)],
)
@pytest.mark.parametrize("name", ["zoo.toml", "pyproject.toml"])
def test_settings_that_are_no_regular_file_are_refused(
    tmp_path: Path, name: str, make: Callable[[Path], object]
) -> None:
    make(tmp_path / name)
    with pytest.raises(SettingsError, match=f"{name}: cannot be read"):
        find_zoo(tmp_path)


def test_a_place_that_does_not_exist_is_no_zoo(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "nowhere" / "x", tmp_path / "file"):
        with pytest.raises(NotAZooError):
            find_zoo(place)


def test_a_folder_that_is_not_there_is_no_zoo_by_that_reason(tmp_path: Path) -> None:
    with pytest.raises(NotAZooError) as caught:
        find_zoo(tmp_path / "nowhere")
    assert caught.value.message.endswith('nowhere" does not exist')


def test_recipes_without_settings_are_a_zoo_that_lost_its_zoo_toml(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "a.yaml").write_text("recipe: 1\n")
    with pytest.raises(NotAZooError) as caught:
        find_zoo(tmp_path)
    assert caught.value.message.endswith("has recipes/, and no settings: zoo.toml is not there")
    assert caught.value.hint.startswith("restore zoo.toml")
