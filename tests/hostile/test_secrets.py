"""Credentials in a pull request: found by V015 wherever they lie, and repeated by no form of the output."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.ci.example import Work
from tests.ci.history import RECORD
from tests.hostile.kit import judge, refused

# Each with parts of it that no output may have.
SECRETS = {
    "a Hugging Face token": ("hf_" + "aB3dE5gH" * 5, ["aB3dE5gH"]),
    "an AWS access key": ("AKIA" + "QZ2WXECRVTBYNUM7", ["QZ2WXE", "YNUM7"]),
    "a GitHub token": ("ghp_" + "kL9mN7pQ" * 5, ["kL9mN7pQ"]),
    "a private key": (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\nkEyBoDy0123456789\n"
        "-----END OPENSSH PRIVATE KEY-----",
        ["b3BlbnNz", "kEyBoDy"],
    ),
}
RECIPE, PROFILE, DRAFT = "recipes/fourth.yaml", "recipes/profiles/sglang-fourth.yaml", "drafts/fourth"
CARD = "release/fourth/1.0.0/README.md"


def in_header(work: Work, secret: str) -> None:
    path = f"{DRAFT}/model.safetensors"
    raw = (work.root / path).read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:end]) | {"__metadata__": {"format": "pt", "token": secret}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    work.write(path, len(text).to_bytes(8, "little") + text + raw[end:])


def in_yaml(path: str, old: str, new: str) -> Callable[[Work, str], None]:
    """Put it into a file, as a quoted text of YAML or JSON in place of SECRET."""
    return lambda work, secret: work.edit(path, old, new.replace("SECRET", json.dumps(secret)))


def in_json(path: str, **keys: Any) -> Callable[[Work, str], None]:
    return lambda work, secret: work.json(path, lambda document: document.update(dict.fromkeys(keys, secret)))


def whole(path: str) -> Callable[[Work, str], None]:
    return lambda work, secret: work.write(path, f"{secret}\n")


PLACES: dict[str, Callable[[Work, str], object]] = {
    "the title": in_yaml(RECIPE, "title: A tiny draft", "title: SECRET"),
    "a long title": lambda work, secret: work.edit(
        RECIPE, "title: A tiny draft", "title: " + json.dumps("x" * 90 + " " + secret)
    ),
    "a number": in_yaml(RECIPE, "block_size: 4", "block_size: SECRET"),
    "a key": in_yaml(RECIPE, "recipe: 1", "recipe: 1\nSECRET: 1"),
    "the source": in_yaml(RECIPE, "./drafts/fourth", "SECRET"),
    "a waiver": in_yaml(
        RECIPE, "recipe: 1", "recipe: 1\nwaivers: [{code: E007, reason: SECRET, until: 2027-03-01}]"
    ),
    "a launch argument": in_yaml(PROFILE, "args:\n", "args:\n  - SECRET\n"),
    "the config": in_json(f"{DRAFT}/config.json", token=1, hidden_act=1, model_type=1),
    "the header of the weights": in_header,
    "a document": whole(f"{DRAFT}/report.pdf"),
    "the card": lambda work, secret: work.edit(CARD, "A tiny draft", f"A {secret} draft"),
    "evidence": in_json(RECORD, tool=1, subject=1),
    "the training manifest": in_yaml("recipes/tiny.training.json", '"run": "tiny"', '"run": SECRET'),
    "a template": whole("templates/card.md.j2"),
    "a log": lambda work, secret: work.log(
        "tiny", lambda events: events[0].update(ref=secret, target=secret)
    ),
    "settings": in_yaml("zoo.toml", '"dir:published"', '"dir:published"\nendpoints = [SECRET]'),
    "a file that no draft needs": whole("notes/todo.md"),
    "the name of a file": lambda work, secret: work.write(f"{DRAFT}/{secret[:60].strip()}.txt", "x"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_found_and_not_repeated(
    clones: Callable[[], Work], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = list(SECRETS)
    work = clones()
    # One kind for each place, all kinds for all forms in turn; two of a file would be found once.
    kind = kinds[list(PLACES).index(place) % 4]
    if place in ("settings", "the name of a file") and kind == "a private key":
        kind = kinds[0]  # a line break is refused there for itself
    secret, parts = SECRETS[kind]
    PLACES[place](work, secret)
    result = judge(work)
    (found,) = [
        finding
        for each in result.result["tree"]["results"]
        for finding in each["findings"]
        if finding["code"] == "V015"
    ]
    assert found["message"] == f"the file holds {kind}"
    assert result.exit == 1
    captured = capsys.readouterr()
    for form, output in {**result.forms, "stdout": captured.out, "stderr": captured.err}.items():
        for part in parts:
            assert part not in output, form


def test_all_kinds_in_one_recipe_are_hidden(clones: Callable[[], Work]) -> None:
    work = clones()
    secrets = "".join(f"k{n}: {json.dumps(secret)}\n" for n, (secret, _) in enumerate(SECRETS.values()))
    titles = [f'{{"{secret}": [{json.dumps(secret)}]}}' for secret, _ in list(SECRETS.values())[:3]]
    work.write(RECIPE, work.read(RECIPE) + secrets + f"k9: [{', '.join(titles)}]\n")
    result = judge(work)
    assert result.codes == {"": {"V015"}, "fourth": {"R005"}}
    for output in result.forms.values():
        assert not any(part in output for _, parts in SECRETS.values() for part in parts)


@pytest.mark.parametrize("kind", SECRETS)
def test_a_refusal_does_not_repeat_it_either(
    clones: Callable[[], Work], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    work = clones()
    secret, parts = SECRETS[kind]
    work.write("zoo.toml", f"{json.dumps(secret)} = {json.dumps(secret)}\n")
    assert refused(work) == 2
    assert refused(work, base=secret.partition("\n")[0] if kind != "a private key" else "x") == 2
    captured = capsys.readouterr()
    assert not any(part in captured.out + captured.err for part in parts)
