"""The scripted history: pull requests to the example zoo, what each changes, and what must be said about it.

All of it was worked out by hand. In each pull request stand:

``rows``: the recipes of the comment, worst first, as they are in its table: name, change, version, verdict,
errors, warnings, evidence. ``files``: how many files of the zoo the comment says changed.

``annotations``: all that GitHub shows: "KIND CODE NAME: FILE > TEXT", where TEXT begins the one line that is
meant (or "FILE:LINE"); no NAME for the change as a whole, no line where no line says it, and "not-checked"
without a file for what should have been checked. What several recipes share is shown once, under the first.

``codes``: those of all errors and warnings, and of notes about the change (V), under the name of the recipe,
or under "" for the change as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.ci.example import SIGNERS, Work

RECORD = "release/second/0.1.0/evidence/replay-held-out.json"
PUBLISHED = "release/tiny/1.0.0"


@dataclass(frozen=True)
class PullRequest:
    """``edit`` makes it, on a clone of the example at branch ``base``."""

    title: str
    edit: Callable[[Work], object]
    exit: int
    files: int
    rows: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    codes: dict[str, set[str]] = field(default_factory=dict)
    base: str = "main"


ENDPOINT = "https://169.254.169.254"
BLOCK = "block_size: 4"
GATE = "gates: {replay: {}}"


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


def rename_tiny(work: Work) -> None:
    work.write("recipes/renamed.yaml", work.read("recipes/tiny.yaml").replace("name: tiny", "name: renamed"))
    work.remove("recipes/tiny.yaml")
    work.edit("recipes/second.yaml", "extends: tiny", "extends: renamed")
    work.card("renamed")


def release_second(work: Work) -> None:
    work.zoo("release", "second", "--push")


def claim(work: Work) -> None:
    text = "claims:\n  - {metric: accept_length, value: 9.0, source: measured, evidence: replay-nobody}\n"
    work.write("recipes/fourth.yaml", work.read("recipes/fourth.yaml") + text)
    work.card("fourth")


def ask_second(work: Work) -> None:
    work.write("recipes/second.yaml", work.read("recipes/second.yaml") + GATE + "\n")


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
    PullRequest(
        "a file that no draft depends on",
        lambda work: work.write("README.md", "# Zoo\n"),
        exit=0,
        files=0,
    ),
    PullRequest(
        "a comment in a recipe",
        lambda work: work.edit("recipes/tiny.yaml", BLOCK, f"{BLOCK} # as trained"),
        exit=0,
        files=1,
        rows=(
            "second | unchanged | 0.1.0 | passed | 0 | 0 | 1 of 1 count",
            "tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",
        ),
    ),
    PullRequest(
        "a good new draft",
        good_new_draft,
        exit=0,
        files=5,
        rows=("fifth | added | 1.0.0 | passed | 0 | 0 | none",),
    ),
    PullRequest(
        "a new draft without a card",
        new_draft,
        exit=1,
        files=4,
        rows=("fifth | added | 1.0.0 | failed | 1 | 0 | none",),
        annotations=("error K001 fifth: release/fifth/1.0.0/README.md",),
        codes={"fifth": {"K001"}},
    ),
    PullRequest(
        "a new draft that lacks a tensor",
        lambda work: (good_new_draft(work), without_a_tensor(work, "drafts/fifth")),
        exit=1,
        files=5,
        rows=("fifth | added | 1.0.0 | failed | 2 | 0 | none",),
        annotations=(
            "error I001 fifth: recipes/fifth.yaml > tensors: 25",
            "error I006 fifth: recipes/fifth.yaml > tensors: 25",
        ),
        codes={"fifth": {"I001", "I006"}},
    ),
    PullRequest(
        "a new draft whose source is outside of the zoo",
        new_draft_of_another_zoo,
        exit=2,
        files=2,
        rows=("fifth | added | 1.0.0 | could not check | 0 | 0 | none",),
        annotations=("warning not-checked fifth",),
    ),
    PullRequest(
        "changed weights of a released version",
        lambda work: work.weights("checkpoint"),
        exit=1,
        files=1,
        rows=("tiny | unchanged | 1.0.0 | failed | 1 | 0 | none",),
        annotations=("error V001 tiny: recipes/tiny.yaml > model.safetensors: weights",),
        codes={"tiny": {"V001"}},
    ),
    PullRequest(
        "changed weights with a new version",
        bump,
        exit=0,
        files=3,
        rows=(
            "second | unchanged | 0.1.0 | passed | 0 | 0 | 1 of 1 count",
            "tiny | changed | 1.0.0 → 1.1.0 | passed | 0 | 0 | none",
        ),
    ),
    PullRequest(
        "a tensor dropped from a released version",
        lambda work: without_a_tensor(work, "checkpoint"),
        exit=1,
        files=1,
        rows=("tiny | unchanged | 1.0.0 | failed | 3 | 0 | none",),
        annotations=(
            "error I001 tiny: recipes/tiny.yaml > tensors: 25",
            "error I006 tiny: recipes/tiny.yaml > tensors: 25",
            "error V001 tiny: recipes/tiny.yaml > model.safetensors: weights",
        ),
        codes={"tiny": {"V001", "I001", "I006"}},
    ),
    PullRequest(
        "another block size in the recipe of a released version",
        lambda work: work.edit("recipes/tiny.yaml", BLOCK, "block_size: 8"),
        exit=1,
        files=1,
        rows=(
            "second | changed | 0.1.0 | failed | 5 | 0 | none",
            "tiny | changed | 1.0.0 | failed | 4 | 0 | none",
        ),
        annotations=(
            "error C011 second: recipes/tiny.yaml > block_size: 8",
            "error K004 second: recipes/second.yaml > - {metric:",
            "error K006 second: release/second/0.1.0/evidence/replay-held-out.json",
            "error L001 second: recipes/profiles/sglang-tiny.yaml > - --speculative-dflash-block-size",
            "error R032 second: recipes/tiny.yaml > block_size: 8",
            "error V001 tiny: recipes/tiny.yaml > block_size: 8",
        ),
        codes={"tiny": {"V001", "C011", "R032", "L001"}, "second": {"C011", "R032", "L001", "K006", "K004"}},
    ),
    PullRequest(
        "an edited card",
        lambda work: work.edit("release/second/0.1.0/README.md", "2.5", "2.9"),
        exit=1,
        files=1,
        rows=("second | unchanged | 0.1.0 | failed | 1 | 0 | 1 of 1 count",),
        annotations=("error K001 second: release/second/0.1.0/README.md > | Accept length |",),
        codes={"second": {"K001"}},
    ),
    PullRequest(
        "an edited card of a released version",
        lambda work: work.write(f"{PUBLISHED}/README.md", work.read(f"{PUBLISHED}/README.md") + "Fast!\n"),
        exit=1,
        files=1,
        rows=("tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",),
        annotations=("error V003: release/tiny/1.0.0/README.md",),
        codes={"": {"V003"}},
    ),
    PullRequest(
        "evidence that contradicts itself",
        lambda work: work.json(RECORD, counts),
        exit=1,
        files=1,
        rows=("second | unchanged | 0.1.0 | failed | 2 | 0 | none",),
        annotations=(
            "error K004 second: recipes/second.yaml > - {metric:",
            "error K006 second: release/second/0.1.0/evidence/replay-held-out.json",
        ),
        codes={"second": {"K006", "K004"}},
    ),
    PullRequest(
        "unsigned evidence",
        add_evidence,
        exit=0,
        files=2,
        rows=("second | unchanged | 0.1.0 | passed | 0 | 0 | 2 of 2 count",),
        annotations=("notice V009 second: release/second/0.1.0/evidence/replay-other.json",),
        codes={"second": {"V009"}},
    ),
    PullRequest(
        "unsigned evidence where signers are required",
        add_evidence,
        exit=1,
        files=2,
        rows=("second | unchanged | 0.1.0 | failed | 1 | 0 | 1 of 2 count",),
        annotations=("error V010 second: release/second/0.1.0/evidence/replay-other.json",),
        codes={"second": {"V010"}},
        base="signed",
    ),
    PullRequest(
        "evidence that a signer has signed",
        lambda work: add_evidence(work, "alice"),
        exit=0,
        files=3,
        rows=("second | unchanged | 0.1.0 | passed | 0 | 0 | 2 of 2 count",),
        base="signed",
    ),
    PullRequest(
        "evidence signed with a key that the same change trusts",
        by_mallory,
        exit=1,
        files=4,
        rows=("second | unchanged | 0.1.0 | failed | 2 | 0 | 1 of 2 count",),
        annotations=(
            "error K001 second: release/second/0.1.0/README.md > | Served |",
            "error V010 second: release/second/0.1.0/evidence/replay-other.json",
            "warning V011: zoo.toml > trust =",
            "warning V011: keys/mallory.pub",
        ),
        codes={"": {"V011"}, "second": {"V010", "K001"}},
        base="signed",
    ),
    PullRequest(
        "the signature of evidence removed",
        lambda work: work.remove(f"{RECORD}.sig"),
        exit=1,
        files=1,
        rows=("second | unchanged | 0.1.0 | failed | 2 | 1 | 0 of 1 count",),
        annotations=(
            "error K004 second: recipes/second.yaml > - {metric:",
            "error K001 second: release/second/0.1.0/README.md > | Accept length |",
            "warning V008 second: release/second/0.1.0/evidence/replay-held-out.json",
        ),
        codes={"second": {"V008", "K001", "K004"}},
        base="signed",
    ),
    PullRequest(
        "evidence of another draft",
        copied_evidence,
        exit=1,
        files=2,
        rows=("fourth | unchanged | 1.0.0 | failed | 1 | 0 | 0 of 1 count",),
        annotations=(
            "error V007 fourth: release/fourth/1.0.0/evidence/replay-held-out.json",
            "notice V009 fourth: release/fourth/1.0.0/evidence/replay-held-out.json",
        ),
        codes={"fourth": {"V007", "V009"}},
    ),
    PullRequest(
        "a moved tag",
        lambda work: work.log("tiny", move_tag),
        exit=1,
        files=1,
        rows=("tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",),
        annotations=("error V005: release/tiny/log.jsonl:1",),
        codes={"": {"V005"}},
    ),
    PullRequest(
        "other files under a published version",
        lambda work: work.log("tiny", publish_again),
        exit=1,
        files=1,
        rows=("tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",),
        annotations=("error V005: release/tiny/log.jsonl:2",),
        codes={"": {"V005"}},
    ),
    PullRequest(
        "a log without its line",
        lambda work: work.write("release/tiny/log.jsonl", ""),
        exit=1,
        files=1,
        rows=("tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",),
        annotations=("error V004: release/tiny/log.jsonl",),
        codes={"": {"V004"}},
    ),
    PullRequest(
        "a yanked version",
        yank,
        exit=0,
        files=1,
        rows=("tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",),
    ),
    PullRequest(
        "a new release, recorded",
        release_second,
        exit=0,
        files=5,
        rows=("second | unchanged | 0.1.0 | passed | 0 | 0 | 1 of 1 count",),
    ),
    PullRequest(
        "a manifest that no log knows",
        lambda work: work.write(
            "release/fourth/1.0.0/manifest.json", work.read(f"{PUBLISHED}/manifest.json")
        ),
        exit=1,
        files=1,
        rows=("fourth | unchanged | 1.0.0 | passed | 0 | 0 | none",),
        annotations=("error V006: release/fourth/1.0.0/manifest.json",),
        codes={"": {"V006"}},
    ),
    PullRequest(
        "one more file of a released version",
        lambda work: work.write(f"{PUBLISHED}/plots/speed.svg", "<svg/>"),
        exit=1,
        files=1,
        rows=("tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",),
        annotations=("error V003: release/tiny/1.0.0/plots/speed.svg",),
        codes={"": {"V003"}},
    ),
    PullRequest(
        "later evidence for a released version",
        lambda work: work.record("tiny"),
        exit=0,
        files=1,
        rows=("tiny | unchanged | 1.0.0 | passed | 0 | 0 | 1 of 1 count",),
        annotations=("notice V009 tiny: release/tiny/1.0.0/evidence/replay-held-out.json",),
        codes={"tiny": {"V009"}},
    ),
    PullRequest(
        "a template that touches every card",
        template,
        exit=1,
        files=1,
        rows=(
            "fourth | unchanged | 1.0.0 | failed | 1 | 0 | none",
            "second | unchanged | 0.1.0 | failed | 1 | 0 | none",
            "third | unchanged | 1.0.0 | failed | 1 | 0 | none",
            "tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",
        ),
        annotations=(
            "error K001 fourth: release/fourth/1.0.0/README.md > ## Serving",
            "error K001 second: release/second/0.1.0/README.md > ## Results",
            "error K001 third: release/third/1.0.0/README.md > ## Serving",
        ),
        codes={"second": {"K001"}, "third": {"K001"}, "fourth": {"K001"}},
    ),
    PullRequest(
        "a template with the cards that it gives",
        lambda work: (template(work), work.card("second", "third", "fourth")),
        exit=0,
        files=4,
        rows=(
            "fourth | unchanged | 1.0.0 | passed | 0 | 0 | none",
            "second | unchanged | 0.1.0 | passed | 0 | 0 | 1 of 1 count",
            "third | unchanged | 1.0.0 | passed | 0 | 0 | none",
            "tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",
        ),
    ),
    PullRequest(
        "a template that calls what it may not",
        lambda work: work.write("templates/card.md.j2", "{{ ''.__class__.__mro__ }}"),
        exit=1,
        files=1,
        rows=(
            "fourth | unchanged | 1.0.0 | failed | 1 | 0 | none",
            "second | unchanged | 0.1.0 | failed | 1 | 0 | none",
            "third | unchanged | 1.0.0 | failed | 1 | 0 | none",
            "tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",
        ),
        annotations=("error K001 fourth: templates/card.md.j2",),
        codes={"second": {"K001"}, "third": {"K001"}, "fourth": {"K001"}},
    ),
    PullRequest(
        "a template that hides the caveats in a comment, with the cards that it gave before",
        lambda work: work.write(
            "templates/card.md.j2",
            '{% extends "zoo/card.md.j2" %}\n{% block notes %}\n<!--\n{{ super() }}\n-->\n{% endblock %}\n',
        ),
        exit=1,
        files=1,
        rows=(
            "fourth | unchanged | 1.0.0 | failed | 1 | 0 | none",
            "second | unchanged | 0.1.0 | failed | 1 | 0 | none",
            "third | unchanged | 1.0.0 | failed | 1 | 0 | none",
            "tiny | unchanged | 1.0.0 | passed | 0 | 0 | none",
        ),
        annotations=("error K001 fourth: templates/card.md.j2",),
        codes={"second": {"K001"}, "third": {"K001"}, "fourth": {"K001"}},
    ),
    PullRequest(
        "a profile that contradicts its drafts",
        lambda work: work.edit(
            "recipes/profiles/sglang-fourth.yaml", "dflash-block-size 4", "dflash-block-size 8"
        ),
        exit=1,
        files=1,
        rows=("fourth | changed | 1.0.0 | failed | 2 | 0 | none",),
        annotations=(
            "error L001 fourth: recipes/profiles/sglang-fourth.yaml > - --speculative-dflash-block-size",
            "error K001 fourth: release/fourth/1.0.0/README.md > --speculative-dflash-block-size 4",
        ),
        codes={"fourth": {"L001", "K001"}},
    ),
    PullRequest(
        "a training manifest that contradicts its drafts",
        lambda work: work.edit("recipes/tiny.training.json", '"step": 9', '"step": 7'),
        exit=1,
        files=1,
        rows=(
            "fourth | unchanged | 1.0.0 | failed | 2 | 0 | none",
            "second | unchanged | 0.1.0 | failed | 2 | 0 | 1 of 1 count",
            "third | unchanged | 1.0.0 | failed | 2 | 0 | none",
            "tiny | unchanged | 1.0.0 | failed | 2 | 0 | none",
        ),
        annotations=(
            "error R031 fourth: recipes/tiny.training.json",
            "error R031 fourth: recipes/fourth.yaml > export_of:",
            "error R031 second: recipes/tiny.training.json",
            "error R031 second: recipes/tiny.yaml > export_of:",
            "error R031 third: recipes/tiny.training.json",
            "error R031 third: recipes/third.yaml > export_of:",
        ),
        codes={"tiny": {"R031"}, "second": {"R031"}, "third": {"R031"}, "fourth": {"R031"}},
    ),
    PullRequest(
        "a recipe of an unreachable source, with the same meaning",
        lambda work: work.edit("recipes/third.yaml", BLOCK, f"{BLOCK} # as trained"),
        exit=0,
        files=1,
        rows=("third | unchanged | 1.0.0 | passed | 0 | 0 | none",),
    ),
    PullRequest(
        "a changed recipe of an unreachable source",
        lambda work: (work.edit("recipes/third.yaml", "A tiny draft", "A good draft"), work.card("third")),
        exit=2,
        files=2,
        rows=("third | changed | 1.0.0 | could not check | 0 | 0 | none",),
        annotations=("warning not-checked third",),
    ),
    PullRequest(
        "another revision of the target",
        lambda work: work.edit("recipes/targets/tiny-target.yaml", "01234567", "76543210"),
        exit=1,
        files=1,
        rows=(
            "second | changed | 0.1.0 | failed | 2 | 1 | 0 of 1 count",
            "third | changed | 1.0.0 | failed | 1 | 0 | none",
            "tiny | changed | 1.0.0 | failed | 1 | 0 | none",
        ),
        annotations=(
            "error K004 second: recipes/second.yaml > - {metric:",
            "error K001 second: release/second/0.1.0/README.md > | Accept length |",
            "error K001 third: release/third/1.0.0/README.md > --revision",
            "error V001 tiny: recipes/targets/tiny-target.yaml > revision:",
            "warning V008 second: release/second/0.1.0/evidence/replay-held-out.json",
            "warning not-checked third",
        ),
        codes={"tiny": {"V001"}, "second": {"V008", "K001", "K004"}, "third": {"K001"}},
    ),
    PullRequest(
        "a version that goes back",
        lambda work: (
            work.edit("recipes/second.yaml", "version: 0.1.0", "version: 0.0.9"),
            work.record("second"),
            work.card("second"),
        ),
        exit=1,
        files=3,
        rows=("second | changed | 0.1.0 → 0.0.9 | failed | 1 | 0 | 1 of 1 count",),
        annotations=(
            "error V002 second: recipes/second.yaml > version: 0.0.9",
            "notice V009 second: release/second/0.0.9/evidence/replay-held-out.json",
        ),
        codes={"second": {"V002", "V009"}},
    ),
    PullRequest(
        "a claim without evidence",
        claim,
        exit=1,
        files=2,
        rows=("fourth | changed | 1.0.0 | failed | 1 | 0 | none",),
        annotations=("error K004 fourth: recipes/fourth.yaml > - {metric:",),
        codes={"fourth": {"K004"}},
    ),
    PullRequest(
        "a gate that the recipe asks for and nobody ran",
        lambda work: (work.edit("recipes/fourth.yaml", "gates: {}", GATE), work.card("fourth")),
        exit=0,
        files=2,
        rows=("fourth | changed | 1.0.0 | passed | 0 | 1 | none",),
        annotations=("warning V016 fourth: recipes/fourth.yaml > gates:",),
        codes={"fourth": {"V016"}},
    ),
    PullRequest(
        "a gate that the recipe asks for and a record answers",
        lambda work: (ask_second(work), work.card("second")),
        exit=0,
        files=1,
        rows=("second | changed | 0.1.0 | passed | 0 | 0 | 1 of 1 count",),
    ),
    PullRequest(
        "changed weights with the signed record and the card of the old ones",
        lambda work: (ask_second(work), work.weights("drafts/second", 3)),
        exit=1,
        files=2,
        rows=("second | changed | 0.1.0 | failed | 2 | 2 | 0 of 1 count",),
        annotations=(
            "error K004 second: recipes/second.yaml > - {metric:",
            "error K001 second: release/second/0.1.0/README.md > | Accept length |",
            "warning V008 second: release/second/0.1.0/evidence/replay-held-out.json",
            "warning V016 second: recipes/second.yaml > gates:",
        ),
        codes={"second": {"K001", "K004", "V008", "V016"}},
        base="signed",
    ),
    PullRequest(
        "a waiver",
        waive,
        exit=0,
        files=1,
        rows=("fourth | changed | 1.0.0 | passed | 0 | 1 | none",),
        annotations=("warning V012 fourth: recipes/fourth.yaml > waivers:",),
        codes={"fourth": {"V012"}},
    ),
    PullRequest(
        "settings that allow another server, and a draft there",
        lambda work: (
            work.write("zoo.toml", work.read("zoo.toml") + f'endpoints = ["{ENDPOINT}"]\n'),
            work.edit("recipes/fourth.yaml", "./drafts/fourth", f"{ENDPOINT}/draft/"),
        ),
        exit=2,
        files=2,
        rows=("fourth | changed | 1.0.0 | could not check | 0 | 0 | none",),
        annotations=(
            "warning V011: zoo.toml > endpoints",
            "warning not-checked fourth",
        ),
        codes={"": {"V011"}},
    ),
    PullRequest(
        "a removed recipe that another one extends",
        lambda work: work.remove("recipes/tiny.yaml"),
        exit=1,
        files=1,
        rows=(
            "second | changed | 0.1.0 → none | failed | 1 | 0 | none",
            "tiny | removed | 1.0.0 → none | passed | 0 | 0 | none",
        ),
        annotations=(
            "error R010 second: recipes/second.yaml > extends: tiny",
            "warning V018: recipes/tiny.yaml",
            "warning not-checked second",
            "warning not-checked second",
        ),
        codes={"": {"V018"}, "second": {"R010"}},
    ),
    PullRequest(
        "a recipe without releases removed",
        lambda work: work.remove("recipes/fourth.yaml"),
        exit=0,
        files=1,
        rows=("fourth | removed | 1.0.0 → none | passed | 0 | 0 | none",),
    ),
    PullRequest(
        "a published recipe renamed, with its repository and its version",
        rename_tiny,
        exit=0,
        files=4,
        rows=(
            "renamed | added | 1.0.0 | passed | 0 | 0 | none",
            "second | changed | 0.1.0 | passed | 0 | 0 | 1 of 1 count",
            "tiny | removed | 1.0.0 → none | passed | 0 | 0 | none",
        ),
        annotations=("warning V018: recipes/tiny.yaml",),
        codes={"": {"V018"}},
    ),
    PullRequest(
        "a second recipe with the repository of another one",
        lambda work: (good_new_draft(work), work.edit("recipes/fifth.yaml", "tests/fifth", "tests/fourth")),
        exit=1,
        files=5,
        rows=("fifth | added | 1.0.0 | failed | 1 | 0 | none",),
        annotations=(
            "error K001 fifth: release/fifth/1.0.0/README.md > --speculative-draft-model-path",
            "error V017: recipes/fifth.yaml > repo: zoo-tests/fourth",
        ),
        codes={"": {"V017"}, "fifth": {"K001"}},
    ),
    PullRequest(
        "a repository that a recipe inherits and does not replace",
        lambda work: work.edit("recipes/second.yaml", "repo: zoo-tests/second\n", ""),
        exit=1,
        files=1,
        rows=("second | changed | 0.1.0 | failed | 1 | 0 | 1 of 1 count",),
        annotations=(
            "error K001 second: release/second/0.1.0/README.md > --speculative-draft-model-path",
            "error V017: recipes/second.yaml > extends: tiny",
        ),
        codes={"": {"V017"}, "second": {"K001"}},
    ),
    PullRequest(
        "another title of a published version",
        lambda work: work.edit("recipes/tiny.yaml", "title: A tiny draft", "title: A good draft"),
        exit=0,
        files=1,
        rows=(
            "second | unchanged | 0.1.0 | passed | 0 | 0 | 1 of 1 count",
            "tiny | changed | 1.0.0 | passed | 0 | 0 | none",
        ),
        annotations=("notice V019 tiny: recipes/tiny.yaml > title:",),
        codes={"tiny": {"V019"}},
    ),
    PullRequest(
        "recipes that extend each other",
        replace_recipe_by_a_cycle,
        exit=1,
        files=1,
        rows=(
            "second | changed | 0.1.0 → none | failed | 1 | 0 | none",
            "tiny | changed | 1.0.0 → none | failed | 1 | 0 | none",
        ),
        annotations=(
            "error R010 second: recipes/tiny.yaml > extends: second",
            "error R010 tiny: recipes/second.yaml > extends: tiny",
            "warning not-checked second",
            "warning not-checked second",
            "warning not-checked tiny",
            "warning not-checked tiny",
        ),
        codes={"tiny": {"R010"}, "second": {"R010"}},
    ),
    PullRequest(
        "a recipe with an alias of YAML",
        lambda work: work.edit("recipes/fourth.yaml", "recipe: 1", "recipe: &bomb 1"),
        exit=1,
        files=1,
        rows=("fourth | changed | 1.0.0 → none | failed | 1 | 0 | none",),
        annotations=(
            "error R002 fourth: recipes/fourth.yaml > recipe: &bomb 1",
            "warning not-checked fourth",
            "warning not-checked fourth",
        ),
        codes={"fourth": {"R002"}},
    ),
    PullRequest(
        "a profile that no draft uses, with an alias of YAML",
        lambda work: work.write("recipes/profiles/other.yaml", "profile: &bomb 1\n"),
        exit=1,
        files=1,
        annotations=("error R002: recipes/profiles/other.yaml > profile: &bomb 1",),
        codes={"": {"R002"}},
    ),
    PullRequest(
        "a workflow that may run the gate",
        lambda work: work.write(".github/workflows/ci.yml", "on: push\n"),
        exit=0,
        files=1,
        annotations=("warning V011: .github/workflows/ci.yml",),
        codes={"": {"V011"}},
    ),
    PullRequest(
        "other people who must agree",
        lambda work: (
            work.write(".github/CODEOWNERS", "* @mallory\n"),
            work.write("CODEOWNERS.md", "no file that GitHub reads\n"),
        ),
        exit=0,
        files=1,
        annotations=("warning V011: .github/CODEOWNERS",),
        codes={"": {"V011"}},
    ),
    PullRequest(
        "the signers removed, and unsigned evidence",
        lambda work: (work.edit("zoo.toml", SIGNERS.format("alice"), ""), work.record("second", "other")),
        exit=1,
        files=2,
        rows=("second | unchanged | 0.1.0 | failed | 2 | 0 | 1 of 2 count",),
        annotations=(
            "error K001 second: release/second/0.1.0/README.md > | Served |",
            "error V010 second: release/second/0.1.0/evidence/replay-other.json",
            "warning V011: zoo.toml",
        ),
        codes={"": {"V011"}, "second": {"V010", "K001"}},
        base="signed",
    ),
    PullRequest(
        "the key of a signer replaced",
        lambda work: (
            work.write("keys/alice.pub", (work.keys / "mallory.pub").read_bytes()),
            work.sign(work.record("second", "other"), by="mallory"),
        ),
        exit=1,
        files=3,
        rows=("second | unchanged | 0.1.0 | failed | 2 | 0 | 1 of 2 count",),
        annotations=(
            "error K001 second: release/second/0.1.0/README.md > | Served |",
            "error V010 second: release/second/0.1.0/evidence/replay-other.json",
            "warning V011: keys/alice.pub",
        ),
        codes={"": {"V011"}, "second": {"V010", "K001"}},
        base="signed",
    ),
    PullRequest(
        "a link out of the zoo",
        link,
        exit=1,
        files=1,
        rows=("passwd | added | none | failed | 1 | 0 | none",),
        annotations=(
            "error V013: recipes/passwd.yaml",
            "error X010 passwd: recipes/passwd.yaml",
            "warning not-checked passwd",
            "warning not-checked passwd",
        ),
        codes={"": {"V013"}, "passwd": {"X010"}},
    ),
    PullRequest(
        "a name that differs only in case",
        lambda work: work.write("recipes/Tiny.yaml", work.read("recipes/tiny.yaml")),
        exit=1,
        files=1,
        rows=("Tiny | added | none | failed | 1 | 0 | none",),
        annotations=(
            "error V014: recipes/Tiny.yaml",
            "error V017: recipes/Tiny.yaml > repo: zoo-tests/tiny",
            "error R011 Tiny: recipes/Tiny.yaml > name: tiny",
            "warning not-checked Tiny",
            "warning not-checked Tiny",
        ),
        codes={"": {"V014", "V017"}, "Tiny": {"R011"}},
    ),
    PullRequest(
        "a name that Windows reserves",
        lambda work: work.write("recipes/prompts/con.jsonl", "{}"),
        exit=1,
        files=1,
        annotations=("error V014: recipes/prompts/con.jsonl",),
        codes={"": {"V014"}},
    ),
)
