"""The scripted history: pull requests to the example zoo, what each changes, and what must be said about it.

``codes`` are those of all errors and warnings, and of notes about the change (V), under the name of the
recipe or "" for the change as a whole. ``drafts`` are the affected recipes and their verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.ci.example import SIGNERS, Work

OK, BAD, OPEN = "passed", "failed", "not checked"
RECORD = "release/second/0.1.0/evidence/replay-held-out.json"
PUBLISHED = "release/tiny/1.0.0"


@dataclass(frozen=True)
class PullRequest:
    """``edit`` makes it, on a clone of the example at branch ``base``."""

    title: str
    edit: Callable[[Work], object]
    exit: int
    drafts: dict[str, str] = field(default_factory=dict)
    codes: dict[str, set[str]] = field(default_factory=dict)
    base: str = "main"


ENDPOINT = "https://169.254.169.254"
BLOCK = "block_size: 4"


def new_draft(work: Work, text: str | None = None) -> None:
    """The draft ``fifth``, by copying fourth; without its card."""
    recipe = work.read("recipes/fourth.yaml").replace("name: fourth", "name: fifth")
    recipe = recipe.replace("zoo-tests/fourth", "zoo-tests/fifth").replace("drafts/fourth", "drafts/fifth")
    work.write("recipes/fifth.yaml", recipe if text is None else text)
    for file in ("config.json", "model.safetensors", "report.pdf"):
        work.write(f"drafts/fifth/{file}", (work.root / "checkpoint" / file).read_bytes())


def good_new_draft(work: Work) -> None:
    new_draft(work)
    work.card("fifth")


def new_draft_of_another_zoo(work: Work) -> None:
    """Its recipe names a folder outside of the zoo."""
    good_new_draft(work)
    work.edit("recipes/fifth.yaml", "./drafts/fifth", "../../drafts")


def without_a_tensor(work: Work, folder: str) -> None:
    """The last tensor is gone from header and data."""
    path = work.root / folder / "model.safetensors"
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    last = max(
        (name for name in header if name != "__metadata__"), key=lambda n: header[n]["data_offsets"][1]
    )
    start, end = header.pop(last)["data_offsets"]
    assert end == len(raw) - 8 - size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    work.write(
        f"{folder}/model.safetensors",
        len(text).to_bytes(8, "little") + text + raw[8 + size : 8 + size + start],
    )


def bump(work: Work) -> None:
    work.weights("checkpoint")
    work.edit("recipes/tiny.yaml", "version: 1.0.0", "version: 1.1.0")
    work.card("tiny")


def template(work: Work) -> None:
    work.write(
        "templates/card.md.j2",
        '{% extends "zoo/card.md.j2" %}\n{% block opening %}{{ super() }}\n\nOf a zoo.{% endblock %}\n',
    )


def by_mallory(work: Work) -> None:
    """A record that its author signed, with the author's key put into the settings by the same change."""
    path = work.record("second", "other")
    work.sign(path, by="mallory")
    work.write("keys/mallory.pub", (work.keys / "mallory.pub").read_bytes())
    work.edit("zoo.toml", SIGNERS.format("alice"), SIGNERS.format("mallory"))


def add_evidence(work: Work, by: str = "") -> None:
    path = work.record("second", "other")
    if by:
        work.sign(path, by)
    work.card("second")


def move_tag(events: list[dict[str, str]]) -> None:
    events[0]["ref"] = "tiny/elsewhere"


def publish_again(events: list[dict[str, str]]) -> None:
    events.append({**events[0], "manifest_sha256": "d" * 64})


def yank(work: Work) -> None:
    work.zoo("yank", "tiny@1.0.0", "--reason", "serves below what it was trained to")


def link(work: Work) -> None:
    (work.root / "recipes" / "passwd.yaml").symlink_to("/etc/passwd")


def replace_recipe_by_a_cycle(work: Work) -> None:
    work.write("recipes/tiny.yaml", "extends: second\n" + work.read("recipes/tiny.yaml"))


def release_second(work: Work) -> None:
    work.zoo("release", "second", "--push")


def claim(work: Work) -> None:
    text = "claims:\n  - {metric: accept_length, value: 9.0, source: measured, evidence: replay-nobody}\n"
    work.write("recipes/fourth.yaml", work.read("recipes/fourth.yaml") + text)
    work.card("fourth")


def waive(work: Work) -> None:
    text = "waivers: [{code: E007, reason: known here, until: 2027-03-01}]\n"
    work.write("recipes/fourth.yaml", work.read("recipes/fourth.yaml") + text)
    work.card("fourth")


def counts(document: dict) -> None:
    document["results"][0]["measured"]["verify_steps"] = 90


def copied_evidence(work: Work) -> None:
    """The record of second, beside a draft that it is not about."""
    work.write("release/fourth/1.0.0/evidence/replay-held-out.json", work.read(RECORD))
    work.card("fourth")


HISTORY = (
    PullRequest("a file that no draft depends on", lambda work: work.write("README.md", "# Zoo\n"), 0),
    PullRequest(
        "a comment in a recipe",
        lambda work: work.edit("recipes/tiny.yaml", BLOCK, f"{BLOCK} # as trained"),
        0,
        {"tiny": OK, "second": OK},
    ),
    PullRequest("a good new draft", good_new_draft, 0, {"fifth": OK}),
    PullRequest("a new draft without a card", new_draft, 1, {"fifth": BAD}, {"fifth": {"K001"}}),
    PullRequest(
        "a new draft that lacks a tensor",
        lambda work: (good_new_draft(work), without_a_tensor(work, "drafts/fifth")),
        1,
        {"fifth": BAD},
        {"fifth": {"I001", "I006"}},
    ),
    PullRequest(
        "a new draft whose source is outside of the zoo",
        new_draft_of_another_zoo,
        2,
        {"fifth": OPEN},
    ),
    PullRequest(
        "changed weights of a released version",
        lambda work: work.weights("checkpoint"),
        1,
        {"tiny": BAD},
        {"tiny": {"V001"}},
    ),
    PullRequest("changed weights with a new version", bump, 0, {"tiny": OK, "second": OK}),
    PullRequest(
        "a tensor dropped from a released version",
        lambda work: without_a_tensor(work, "checkpoint"),
        1,
        {"tiny": BAD},
        {"tiny": {"V001", "I001", "I006"}},
    ),
    PullRequest(
        "another block size in the recipe of a released version",
        lambda work: work.edit("recipes/tiny.yaml", BLOCK, "block_size: 8"),
        1,
        {"tiny": BAD, "second": BAD},
        {"tiny": {"V001", "C011", "R032", "L001"}, "second": {"C011", "R032", "L001", "K006", "K004"}},
    ),
    PullRequest(
        "an edited card",
        lambda work: work.edit("release/second/0.1.0/README.md", "2.5", "2.9"),
        1,
        {"second": BAD},
        {"second": {"K001"}},
    ),
    PullRequest(
        "an edited card of a released version",
        lambda work: work.write(f"{PUBLISHED}/README.md", work.read(f"{PUBLISHED}/README.md") + "Fast!\n"),
        1,
        {"tiny": OK},
        {"": {"V003"}},
    ),
    PullRequest(
        "evidence that contradicts itself",
        lambda work: work.json(RECORD, counts),
        1,
        {"second": BAD},
        {"second": {"K006", "K004"}},
    ),
    PullRequest("unsigned evidence", add_evidence, 0, {"second": OK}, {"second": {"V009"}}),
    PullRequest(
        "unsigned evidence where signers are required",
        add_evidence,
        1,
        {"second": BAD},
        {"second": {"V010"}},
        base="signed",
    ),
    PullRequest(
        "evidence that a signer has signed",
        lambda work: add_evidence(work, "alice"),
        0,
        {"second": OK},
        base="signed",
    ),
    PullRequest(
        "evidence signed with a key that the same change trusts",
        by_mallory,
        1,
        {"second": BAD},
        {"": {"V011"}, "second": {"V010", "K001"}},
        base="signed",
    ),
    PullRequest(
        "the signature of evidence removed",
        lambda work: work.remove(f"{RECORD}.sig"),
        1,
        {"second": BAD},
        {"second": {"V008", "K001", "K004"}},
        base="signed",
    ),
    PullRequest(
        "evidence of another draft", copied_evidence, 1, {"fourth": BAD}, {"fourth": {"V007", "V009"}}
    ),
    PullRequest("a moved tag", lambda work: work.log("tiny", move_tag), 1, {"tiny": OK}, {"": {"V005"}}),
    PullRequest(
        "other files under a published version",
        lambda work: work.log("tiny", publish_again),
        1,
        {"tiny": OK},
        {"": {"V005"}},
    ),
    PullRequest(
        "a log without its line",
        lambda work: work.write("release/tiny/log.jsonl", ""),
        1,
        {"tiny": OK},
        {"": {"V004"}},
    ),
    PullRequest("a yanked version", yank, 0, {"tiny": OK}),
    PullRequest("a new release, recorded", release_second, 0, {"second": OK}),
    PullRequest(
        "a manifest that no log knows",
        lambda work: work.write(
            "release/fourth/1.0.0/manifest.json", work.read(f"{PUBLISHED}/manifest.json")
        ),
        1,
        {"fourth": OK},
        {"": {"V006"}},
    ),
    PullRequest(
        "one more file of a released version",
        lambda work: work.write(f"{PUBLISHED}/plots/speed.svg", "<svg/>"),
        1,
        {"tiny": OK},
        {"": {"V003"}},
    ),
    PullRequest(
        "later evidence for a released version",
        lambda work: work.record("tiny"),
        0,
        {"tiny": OK},
        {"tiny": {"V009"}},
    ),
    PullRequest(
        "a template that touches every card",
        template,
        1,
        {"tiny": OK, "second": BAD, "third": BAD, "fourth": BAD},
        {"second": {"K001"}, "third": {"K001"}, "fourth": {"K001"}},
    ),
    PullRequest(
        "a template with the cards that it gives",
        lambda work: (template(work), work.card("second", "third", "fourth")),
        0,
        {"tiny": OK, "second": OK, "third": OK, "fourth": OK},
    ),
    PullRequest(
        "a template that calls what it may not",
        lambda work: work.write("templates/card.md.j2", "{{ ''.__class__.__mro__ }}"),
        1,
        {"tiny": OK, "second": BAD, "third": BAD, "fourth": BAD},
        {"second": {"K001"}, "third": {"K001"}, "fourth": {"K001"}},
    ),
    PullRequest(
        "a profile that contradicts its drafts",
        lambda work: work.edit(
            "recipes/profiles/sglang-fourth.yaml", "dflash-block-size 4", "dflash-block-size 8"
        ),
        1,
        {"fourth": BAD},
        {"fourth": {"L001", "K001"}},
    ),
    PullRequest(
        "a training manifest that contradicts its drafts",
        lambda work: work.edit("recipes/tiny.training.json", '"step": 9', '"step": 7'),
        1,
        {"tiny": BAD, "second": BAD, "third": BAD, "fourth": BAD},
        {"tiny": {"R031"}, "second": {"R031"}, "third": {"R031"}, "fourth": {"R031"}},
    ),
    PullRequest(
        "a recipe of an unreachable source, with the same meaning",
        lambda work: work.edit("recipes/third.yaml", BLOCK, f"{BLOCK} # as trained"),
        0,
        {"third": OK},
    ),
    PullRequest(
        "a changed recipe of an unreachable source",
        lambda work: (work.edit("recipes/third.yaml", "A tiny draft", "A good draft"), work.card("third")),
        2,
        {"third": OPEN},
    ),
    PullRequest(
        "another revision of the target",
        lambda work: work.edit("recipes/targets/tiny-target.yaml", "01234567", "76543210"),
        1,
        {"tiny": BAD, "second": BAD, "third": BAD},
        {"tiny": {"V001"}, "second": {"V008", "K001", "K004"}, "third": {"K001"}},
    ),
    PullRequest(
        "a version that goes back",
        lambda work: (
            work.edit("recipes/second.yaml", "version: 0.1.0", "version: 0.0.9"),
            work.record("second"),
            work.card("second"),
        ),
        1,
        {"second": BAD},
        {"second": {"V002", "V009"}},
    ),
    PullRequest("a claim without evidence", claim, 1, {"fourth": BAD}, {"fourth": {"K004"}}),
    PullRequest("a waiver", waive, 0, {"fourth": OK}, {"fourth": {"V012"}}),
    PullRequest(
        "settings that allow another server, and a draft there",
        lambda work: (
            work.write("zoo.toml", work.read("zoo.toml") + f'endpoints = ["{ENDPOINT}"]\n'),
            work.edit("recipes/fourth.yaml", "./drafts/fourth", f"{ENDPOINT}/draft/"),
        ),
        2,
        {"fourth": OPEN},
        {"": {"V011"}},
    ),
    PullRequest(
        "a removed recipe that another one extends",
        lambda work: work.remove("recipes/tiny.yaml"),
        1,
        {"tiny": OK, "second": BAD},
        {"second": {"R010"}},
    ),
    PullRequest(
        "recipes that extend each other",
        replace_recipe_by_a_cycle,
        1,
        {"tiny": BAD, "second": BAD},
        {"tiny": {"R010"}, "second": {"R010"}},
    ),
    PullRequest(
        "a recipe with an alias of YAML",
        lambda work: work.edit("recipes/fourth.yaml", "recipe: 1", "recipe: &bomb 1"),
        1,
        {"fourth": BAD},
        {"fourth": {"R002"}},
    ),
    PullRequest(
        "a profile that no draft uses, with an alias of YAML",
        lambda work: work.write("recipes/profiles/other.yaml", "profile: &bomb 1\n"),
        1,
        {},
        {"": {"R002"}},
    ),
    PullRequest(
        "a workflow that may run the gate",
        lambda work: work.write(".github/workflows/ci.yml", "on: push\n"),
        0,
        {},
        {"": {"V011"}},
    ),
    PullRequest(
        "the signers removed, and unsigned evidence",
        lambda work: (work.edit("zoo.toml", SIGNERS.format("alice"), ""), work.record("second", "other")),
        1,
        {"second": BAD},
        {"": {"V011"}, "second": {"V010", "K001"}},
        base="signed",
    ),
    PullRequest(
        "the key of a signer replaced",
        lambda work: (
            work.write("keys/alice.pub", (work.keys / "mallory.pub").read_bytes()),
            work.sign(work.record("second", "other"), by="mallory"),
        ),
        1,
        {"second": BAD},
        {"": {"V011"}, "second": {"V010", "K001"}},
        base="signed",
    ),
    PullRequest("a link out of the zoo", link, 1, {"passwd": BAD}, {"": {"V013"}, "passwd": {"X010"}}),
    PullRequest(
        "a name that differs only in case",
        lambda work: work.write("recipes/Tiny.yaml", work.read("recipes/tiny.yaml")),
        1,
        {"Tiny": BAD},
        {"": {"V014"}, "Tiny": {"R011"}},
    ),
    PullRequest(
        "a name that Windows reserves",
        lambda work: work.write("recipes/prompts/con.jsonl", "{}"),
        1,
        {},
        {"": {"V014"}},
    ),
)
