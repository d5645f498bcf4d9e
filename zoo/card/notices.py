"""What a card says of withdrawn versions, between two marks that a later change finds again; and the
``new_version`` of its metadata. Whatever else a card holds stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from zoo.card.markdown import inline
from zoo.release import events, record
from zoo.release.versions import successor
from zoo.workspace import Zoo

_BEGIN, _END = "<!-- zoo: withdrawn versions -->", "<!-- zoo: end of withdrawn versions -->"
_BLOCK = re.compile(re.escape(_BEGIN) + r".*?" + re.escape(_END) + r"\n*", re.DOTALL)
_FRONT = re.compile(r"\A---[ \t]*\r?\n(?P<data>.*?)^---[ \t]*\r?\n\s*", re.DOTALL | re.MULTILINE)
_NEW_VERSION = re.compile(r"^new_version:(?P<repo>[^\n]*)\n", re.MULTILINE)


def notice(name: str, published: Iterable[str], yanked: Mapping[str, str]) -> str:
    """The lines about the withdrawn versions of ``name``, or "" if there is none."""
    released = list(published)
    lines = []
    for version, reason in yanked.items():
        instead = successor(version, released, yanked)
        lines.append(f"> **Version {inline(version)} of {inline(name)} is withdrawn.** {inline(reason)}")
        lines[-1] += f" (Use {inline(instead)}.)" if instead else ""
    return "\n>\n".join(lines)


def notice_of(zoo: Zoo, name: str) -> str:
    """:func:`notice` of what the log of ``name`` says."""
    published = [entry.version for entry in record.published(zoo, name)]
    return notice(name, published, events.withdrawn(zoo, name))


def with_notice(card: str, text: str) -> str:
    """``card`` with ``text`` after its first paragraph, which says that this is a draft, in place of what an
    earlier notice said there; without one if ``text`` is empty. The marks mean something at that place alone:
    anybody's text may hold them in a code span."""
    front = _FRONT.match(card)
    paragraph = card.find("\n\n", front.end() if front else 0)
    at = len(card) if paragraph < 0 else paragraph + 2
    earlier = _BLOCK.match(card, at)
    rest = card[earlier.end() if earlier else at :]
    if not text:
        return card[:at] + rest
    head = card[:at] if paragraph >= 0 else card.rstrip("\n") + "\n\n"
    return f"{head}{_BEGIN}\n{text}\n\n{_END}\n\n{rest}"


def with_successor(card: str, repo: str) -> str:
    """``card`` whose metadata name ``repo``, OWNER/NAME, as the newer version (``new_version``), which the
    Hub shows as a banner. "" names none."""
    front = _FRONT.match(card)
    line = f"new_version: {repo}\n" if repo else ""
    if front is None:
        return f"---\n{line}---\n\n{card}" if line else card
    at, end = front.span("data")
    return card[:at] + line + _NEW_VERSION.sub("", front["data"]) + card[end:]


def successor_of(card: str) -> str:
    """The repository that the metadata of ``card`` name as the newer version, or ""."""
    front = _FRONT.match(card)
    found = _NEW_VERSION.search(front["data"]) if front else None
    return found["repo"].strip() if found else ""
