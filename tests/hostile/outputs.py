"""What a hostile pull request makes the tool say: every form, the streams of the process, and the card."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.ci.example import Work
from tests.hostile.kit import Judged, judge
from tests.report import checks

RECIPE = "recipes/fourth.yaml"
CARD = "release/fourth/1.0.0/README.md"
_parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@dataclass(frozen=True)
class Shown:
    """``out`` and ``err``: what ``zoo ci`` printed as text. ``card``: that of "fourth" as rendered and
    committed; "" where the change has none."""

    judged: Judged
    out: str
    err: str
    card: str

    @property
    def texts(self) -> dict[str, str]:
        """Everything that was said: the forms by their names, the streams, the card."""
        forms = dict(self.judged.forms)
        return forms | {"stdout": self.out, "stderr": self.err, "card": self.card}

    @property
    def findings(self) -> list[dict[str, str]]:
        reports = [self.judged.result["tree"], *(each["report"] for each in self.judged.result["drafts"])]
        return [each for report in reports for result in report["results"] for each in result["findings"]]

    def messages(self, code: str) -> list[str]:
        """The messages of one rule."""
        return [each["message"] for each in self.findings if each["code"] == code]


def show(work: Work, base: str = "main", *, card: bool = False, commit: bool = True) -> Shown:
    """Judge a change as ``judge`` does, which holds every form against what it must be whatever is in it; and
    hold the streams and, with ``card``, the rendered card against the same."""
    if card:
        work.card("fourth")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        judged = judge(work, base=base, commit=commit)
    shown = Shown(judged, out.getvalue(), err.getvalue(), work.read(CARD) if card else "")
    for text in (shown.out, shown.err, shown.card):
        checks.is_shown_as_it_is(text)
        checks.commands_nothing(text)
    return shown


def copy_of(example: Work, root: Path, base: str = "main") -> Work:
    """A clone with a new branch, as the fixture ``clone`` makes it, for a whole module."""
    shutil.copytree(example.root, root, symlinks=True)
    work = Work(root, example.keys)
    work.git("checkout", "-q", "-b", "change", base)
    return work


def yaml(text: str) -> str:
    """``text`` as a scalar of YAML in double quotes, in ASCII."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    number = ord(char)
    if char in '"\\':
        return f"\\{char}"
    if 0x20 <= number < 0x7F:
        return char
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def talk(work: Work, line: str, prose: str = "") -> None:
    """Let the recipe of "fourth" say ``line`` wherever it has a line of text, and ``prose`` wherever it has
    paragraphs."""
    one, many = yaml(line), yaml(prose or line)
    work.edit(RECIPE, "title: A tiny draft", f"title: {one}")
    work.edit(RECIPE, "summary: A draft that exists to be released in tests.", f"summary: {many}")
    work.edit(
        RECIPE,
        "license: {id: apache-2.0}",
        f"license: {{id: other, name: {one}, link: 'https://a.example/'}}",
    )
    work.edit(RECIPE, "report.pdf: document", f"report.pdf: {{kind: document, about: {one}}}")
    work.edit(RECIPE, "mask_token: {id: 255}", f"mask_token: {{id: 255, text: {one}}}")
    work.edit(RECIPE, "  run: tiny", f"  run: {one}\n  about: {many}\n  hidden_states_from: {one}")
    work.edit(
        RECIPE,
        "caveats: [E008, E009, E017]",
        f"caveats: [E008, E009, E017, {{text: {many}}}]\n"
        f"motivation: {many}\n"
        f"evaluation: {{protocol: [{many}]}}\n"
        f"base: {{repo: acme/base, about: {one}}}\n"
        f"claims: [{{metric: tps, value: 2, at: {{concurrency: {one}}}, against: {one}, text: {many}, "
        "source: reported}]\n"
        f"waivers: [{{code: E007, reason: {one}, until: 2027-03-01}}]",
    )


def tokens(text: str) -> list[Token]:
    """All tokens of a Markdown text, those of lines included; of a card, without its metadata."""
    body = text.split("\n---\n", 1)[1] if text.startswith("---\n") else text
    parsed = _parser.parse(body)
    return [*parsed, *(child for token in parsed for child in token.children or ())]


def kinds(text: str) -> set[str]:
    return {token.type for token in tokens(text)}


def links(text: str) -> list[str]:
    return [str(token.attrs["href"]) for token in tokens(text) if token.type == "link_open"]


def words(text: str) -> str:
    """What a reader sees of a Markdown text, code included."""
    shown = ("text", "code_inline", "fence", "code_block")
    return "".join(
        token.content if token.type in shown else "\n" if token.type in ("softbreak", "inline") else ""
        for token in tokens(text)
    )


def renamed_tensor(work: Work, folder: str, name: str, **fields: Any) -> None:
    """Call a tensor of a checkpoint otherwise, the first that still has its own name; ``fields``: more of its
    entry in the header."""
    path = f"{folder}/model.safetensors"
    raw = (work.root / path).read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    old = next(each for each in header if each.startswith("layers."))
    header[name] = header.pop(old) | fields
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    work.write(path, len(text).to_bytes(8, "little") + text + raw[8 + size :])
