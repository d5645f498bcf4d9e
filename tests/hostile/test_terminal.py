"""What a terminal obeys or hides (escapes, bidirectional and invisible characters) in everything that a pull
request can write: shown as its escape in every form, in the streams and on the card, or refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.ci.example import Work
from tests.hostile.outputs import RECIPE, renamed_tensor, show, talk, words, yaml

Clone = Callable[[str], Work]
# What each of them would do to a reader, and how its first character is shown.
CHARACTERS = {
    "CSI, a colour": ("\x1b[31mred\x1b[0m", r"\x1b[31m"),
    "CSI, clear the screen": ("\x1b[2J\x1b[H", r"\x1b[2J"),
    "OSC 8, a link": ("\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\", r"\x1b]8;;"),
    "OSC 52, the clipboard": ("\x1b]52;c;ZXZpbA==\x07", r"\x1b]52"),
    "DCS, a device string": ("\x1bP$q q\x1b\\", r"\x1bP"),
    "C1, CSI in one character": ("\x9b31mred", r"\x9b31m"),
    "backspace": ("ok\x08\x08no", r"ok\x08\x08no"),
    "return, which writes over": ("failed\rpassed", r"failed\rpassed"),
    "bell and delete": ("a\x07\x7fb", r"a\x07\x7fb"),
    "right-to-left override": ("safe\u202egnp.exe", r"safe\u202egnp.exe"),
    "isolates": ("\u2066a\u2067b\u2069", r"\u2066a\u2067b\u2069"),
    "zero width": ("pay\u200bpal\u2060\ufeff", r"pay\u200bpal\u2060\ufeff"),
    "letters that nobody sees": ("fc.weight\u3164", r"fc.weight\u3164"),
    "variation selectors": ("fc\U000e0101\ufe0f", r"fc\U000e0101\ufe0f"),
    "tags": ("a\U000e0041", r"a\U000e0041"),
    "line and paragraph separators": ("ok\u2028no\u2029", r"ok\u2028no\u2029"),
}
ALL = "|".join(text for text, _ in CHARACTERS.values())


@pytest.mark.parametrize("name", CHARACTERS)
def test_in_the_words_of_a_recipe_it_is_shown_as_its_escape(clone: Clone, name: str) -> None:
    text, escape = CHARACTERS[name]
    work = clone("main")
    line = "".join(char for char in text if char >= " ")
    talk(work, f"a {line} b", f"a {text} b")
    shown = show(work, card=True)
    # White space of the control characters is a space on a page, and its escape on a terminal.
    on_page = escape.replace(r"\r", " ").replace(r"\u2028", " ").replace(r"\u2029", " ").strip()
    assert on_page in words(shown.card)
    assert shown.messages("V012")


def test_a_control_character_in_a_line_of_text_is_refused_by_name(clone: Clone) -> None:
    work = clone("main")
    work.edit(RECIPE, "title: A tiny draft", f"title: {yaml(ALL)}")
    shown = show(work)
    assert shown.judged.codes["fourth"] == {"R008"}
    assert r"\x1b" in shown.out


def test_a_raw_control_character_in_a_recipe_is_refused_by_name(clone: Clone) -> None:
    work = clone("main")
    work.edit(RECIPE, "title: A tiny draft", "title: A \x1b]52;c;eA==\x07 draft")
    shown = show(work)
    assert shown.judged.verdicts["fourth"] == "failed"
    assert shown.judged.codes["fourth"] <= {"R001", "R003"}


# Of one rule ten findings are shown.
@pytest.mark.parametrize("some", [slice(0, 8), slice(8, 16)], ids=["first", "rest"])
@pytest.mark.parametrize("path", ["recipes/prompts/{}.jsonl", "release/fourth/1.0.0/{}/x", "recipes/{}.yaml"])
def test_names_of_files_and_recipes_are_refused_by_name(clone: Clone, path: str, some: slice) -> None:
    work = clone("main")
    names = [text.replace("/", "") for text, _ in list(CHARACTERS.values())[some]]
    for name in names:
        work.write(path.format(name), "{}")
    shown = show(work)
    refused = shown.messages("V014")
    assert len(refused) == len(names) == 8
    assert all("characters that do not print" in message for message in refused)


def test_names_of_tensors_are_refused_by_name(clone: Clone) -> None:
    work = clone("main")
    for text, _ in CHARACTERS.values():
        renamed_tensor(work, "drafts/fourth", text)
    shown = show(work)
    assert "X008" in shown.judged.codes["fourth"]
    assert r"\x1b" in shown.out


def test_look_alikes_of_names_are_refused_by_name(clone: Clone) -> None:
    """Letters of other scripts print, so they are not escaped; a name has none."""
    work = clone("main")
    work.write("recipes/t\u0456ny.yaml", work.read("recipes/tiny.yaml"))
    work.write("recipes/f\u043eurth.yaml", work.read(RECIPE).replace("name: fourth", "name: f\u043eurth"))
    renamed_tensor(work, "drafts/fourth", "n\u043erm.weight")
    shown = show(work)
    assert shown.judged.codes == {
        "": {"V017"},
        "t\u0456ny": {"R011"},
        "f\u043eurth": {"R008"},
        "fourth": {"X008"},
    }


def test_a_config_is_shown_as_escapes(clone: Clone) -> None:
    work = clone("main")

    def change(config: dict[str, object]) -> None:
        config.update({text: text for text, _ in CHARACTERS.values()})
        config.update(model_type=ALL, hidden_act=ALL, hidden_size=ALL, layer_types=[ALL])

    work.json("drafts/fourth/config.json", change)
    shown = show(work)
    assert shown.judged.verdicts["fourth"] == "failed"
    assert r"\x1b[31m" in shown.out
    assert json.dumps(ALL)[1:20] in shown.judged.forms["json"]


def test_fields_of_evidence_are_shown_as_escapes(clone: Clone) -> None:
    work = clone("main")
    path = work.record("fourth")

    def change(record: dict[str, object]) -> None:
        record["inputs"]["about"] = ALL  # type: ignore[index]
        record["host"] = {"gpus": [ALL], "driver": ALL, "cpu": ALL}
        record["tool"] = ALL
        record["results"][0].update(outcome="failed", reason=ALL)  # type: ignore[index]

    work.json(path, change)
    work.json(work.record("second"), lambda record: record.update({ALL: ALL, "kind": ALL}))
    shown = show(work)
    assert shown.judged.exit == 1


def test_the_log_of_releases_is_shown_as_escapes(clone: Clone) -> None:
    work = clone("main")
    work.log("tiny", lambda events: events.append({**events[0], "ref": ALL, "target": ALL, "reason": ALL}))
    work.write(
        "release/second/log.jsonl", json.dumps({"event": "yanked", "version": "0.1.0", "reason": ALL}) + "\n"
    )
    shown = show(work)
    assert shown.judged.exit == 1


def test_names_of_branches_and_authors_are_shown_as_escapes_or_not_at_all(clone: Clone) -> None:
    work = clone("main")
    base = "safe\u202egnp\u200b\u3164\u2066"  # git refuses control characters in them
    work.git("branch", base, "main")
    work.git("config", "user.name", f"a {ALL.replace(chr(0), '')}")
    talk(work, "words")
    work.git("add", "-A")
    author = "b \x1b[31m\u202e <b@example.org>"
    work.git("commit", "-q", "-m", f"\x1b]52;c;eA==\x07 {ALL}", f"--author={author}")
    shown = show(work, base, commit=False)
    assert r"safe\u202egnp\u200b\u3164\u2066" in shown.out
    assert "example.org" not in "".join(shown.texts.values())
