"""Numbers that no other reader would understand: thousands of digits, NaN, infinities, bools as counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ci.example import Work
from tests.ci.history import RECORD
from tests.hostile.kit import Judged, judge, recipe_of, refused

DIGITS = "9" * 5_000
# What a recipe says in place of its number, and the code; R003 where it is no number at all.
YAML = {
    DIGITS: "R003",
    f"-{DIGITS}": "R003",
    "1e999": "R003",
    "-1e999": "R003",
    ".inf": "R003",
    ".NaN": "R003",
    "1e308": "R007",
    "1e-400": "R007",
    "-0": "R007",
    "-1": "R007",
    "0": "R007",
    "true": "R007",
    "0x10": "R007",
    "1_000": "R007",
    "12:30:00": "R007",
    "'4'": "R007",
    "9223372036854775808": "R007",
}
# What a JSON file says in place of its number, and the codes of config.json and of other files.
TYPE = {"C011", "C074", "C101", "K001"}
JSON: dict[str, set[str]] = {
    DIGITS: {"C002", "K001"},
    "18446744073709551616": {"C002", "K001"},
    "NaN": TYPE | {"C004"},
    "Infinity": TYPE | {"C004"},
    "-Infinity": TYPE | {"C004"},
    "1e999": TYPE | {"C004"},
    "-0": TYPE,
    "0.1e-99999": TYPE,
    "true": TYPE,
    '"4"': TYPE,
    "[4]": TYPE,
    "-4": {"C011", "C017", "C101", "K001"},
    "9223372036854775807": {"C011", "C017", "C101", "K001"},
}


@pytest.fixture(scope="module")
def judged(clones: Callable[[], Work]) -> Judged:
    work = clones()
    for number, text in enumerate(YAML):
        recipe_of(work, f"yaml{number}", ("block_size: 4", f"block_size: {text}"))
    for number, text in enumerate(JSON):
        file = recipe_of(work, f"json{number}", files=True) / "config.json"
        file.write_text(file.read_text().replace('"block_size": 4', f'"block_size": {text}'))
        manifest = work.read("recipes/tiny.training.json").replace('"step": 9', f'"step": {text}')
        recipe_of(work, f"manifest{number}", ("tiny.training.json", f"manifest{number}.training.json"))
        work.write(f"recipes/manifest{number}.training.json", manifest)
    return judge(work, commit=False)


@pytest.mark.parametrize("text", YAML, ids=lambda text: text[:20])
def test_a_recipe_takes_no_such_number(judged: Judged, text: str) -> None:
    assert judged.codes[f"yaml{list(YAML).index(text)}"] == {YAML[text]}


@pytest.mark.parametrize("text", JSON, ids=lambda text: text[:20])
def test_a_config_takes_no_such_number(judged: Judged, text: str) -> None:
    assert judged.codes[f"json{list(JSON).index(text)}"] == JSON[text]


@pytest.mark.parametrize("text", JSON, ids=lambda text: text[:20])
def test_a_training_manifest_takes_no_such_number(judged: Judged, text: str) -> None:
    code = "R031" if text in ("-0", "0.1e-99999", "9223372036854775807") else "R030"
    assert judged.codes[f"manifest{list(JSON).index(text)}"] == {code, "K001"}


def test_all_digits_are_in_no_form(judged: Judged) -> None:
    for output in judged.forms.values():
        assert "9" * 1_000 not in output


@pytest.mark.parametrize("text", [DIGITS, "NaN", "1e999", "-0", "true", "-4", "18446744073709551616"])
def test_evidence_takes_no_such_number(clones: Callable[[], Work], text: str) -> None:
    work = clones()
    work.edit(RECORD, '"verify_steps": 100', f'"verify_steps": {text}')
    result = judge(work, commit=False)
    assert result.codes == {"second": {"K004", "K005"}}
    assert result.exit == 1


@pytest.mark.parametrize("text", [DIGITS, "NaN", "1e999"])
def test_the_record_of_a_release_takes_no_such_number(clones: Callable[[], Work], text: str) -> None:
    work = clones()
    log = "release/tiny/log.jsonl"
    work.write(log, work.read(log) + work.read(log).replace("{", f'{{"x": {text}, ', 1))
    work.edit("release/tiny/1.0.0/manifest.json", '"files"', f'"x": {text}, "files"')
    result = judge(work, commit=False)
    assert {"V003", "V006"} & result.codes[""] == {"V003"} or "V004" in result.codes[""]
    assert result.exit == 1


def test_settings_take_no_such_number(clones: Callable[[], Work], capsys: pytest.CaptureFixture[str]) -> None:
    work = clones()
    work.write("zoo.toml", f"x = {DIGITS}\n")
    assert refused(work) == 2
    assert "zoo.toml: not TOML" in capsys.readouterr().err
