"""The words of shell text, with the line that each one begins on. Nothing is run and nothing is expanded.

Only what launch commands are written with is understood: quotes, backslashes, continued lines, comments,
variables, here-documents, operators and redirections. The rest (functions, loops, tests) falls apart into
simple commands of which a reader picks those that it knows. Every text has an answer, in one pass over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# "<your-model>" in a README is a place to fill in, although a shell would take it for a redirection.
_PLACE = re.compile(r"<[A-Za-z][\w ./-]{0,60}>")
_REDIRECTION = re.compile(r"&>>?|>>|>&|>\||<&|<>|<<<|[<>]")
_HERE = re.compile(r"<<(-?)[ \t]*(['\"\\]?)([A-Za-z_][\w.]*)\2")
_DEPTH = 2  # of here-documents in here-documents; each level is one more pass over the text
_OPERATORS = ";&|\n()"
_CLOSING = {"(": ")", "{": "}"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word as the program gets it, without its quotes. ``symbolic``: only a shell knows what it is, because
    it holds a variable or a command (left as they are written); ``split``: it may even be several words."""

    text: str
    line: int
    symbolic: bool = False
    split: bool = False


@dataclass(frozen=True, slots=True)
class Simple:
    """The words between two operators. ``newline``: it follows a line's end and no other operator."""

    words: tuple[Word, ...]
    newline: bool


@dataclass(frozen=True, slots=True)
class Text:
    """All simple commands of a text, and the lines of quotes and brackets that are never closed."""

    commands: tuple[Simple, ...]
    unclosed: tuple[int, ...]


def read(text: str, line: int = 1) -> Text:
    """Split ``text``, whose first line is number ``line``, into simple commands. Here-documents are read as
    shell text too: scripts write launch commands that way."""
    commands: list[Simple] = []
    unclosed: list[int] = []
    waiting = [(text.replace("\r\n", "\n"), line, 0)]
    while waiting:
        content, first, depth = waiting.pop()
        lexer = _Lexer(content, first)
        commands += lexer.commands()
        unclosed += lexer.unclosed
        if depth < _DEPTH:
            waiting += [(*document, depth + 1) for document in lexer.documents]
    return Text(tuple(sorted(commands, key=lambda each: each.words[0].line)), tuple(unclosed))


@dataclass
class _Lexer:
    text: str
    line: int
    at: int = 0
    unclosed: list[int] = field(default_factory=list)
    documents: list[tuple[str, int]] = field(default_factory=list)
    _ends: list[tuple[str, bool]] = field(default_factory=list)  # of here-documents that begin on this line
    _redirected: bool = False

    def commands(self) -> Iterator[Simple]:
        words: list[Word] = []
        newline = True
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t" or self.text.startswith("\\\n", self.at):
                self._skip(1 if char != "\\" else 2)
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char in _OPERATORS and not self.text.startswith("&>", self.at):
                if words:
                    yield Simple(tuple(words), newline)
                    newline = True
                words = []
                newline = newline and char == "\n"
                self._skip(1)
                if char == "\n":
                    self._here_documents()
            elif char in "<>&" and not _PLACE.match(self.text, self.at) and not self._substitutes():
                self._redirection()
            else:
                words += self._word()
        if words:
            yield Simple(tuple(words), newline)

    def _substitutes(self) -> bool:
        """Whether <(a command) or >(a command) begins here: a word, the name of a pipe."""
        return self.text.startswith(("<(", ">("), self.at)

    def _skip(self, count: int) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def _redirection(self) -> None:
        here = _HERE.match(self.text, self.at)
        if here and not self.text.startswith("<<<", self.at):
            self._ends.append((here[3], here[1] == "-"))
            self._skip(len(here[0]))
            return
        operator = _REDIRECTION.match(self.text, self.at)
        self._skip(len(operator[0]) if operator else 1)
        self._redirected = True

    def _here_documents(self) -> None:
        for end, indented in self._ends:
            start, first = self.at, self.line
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                row = self.text[self.at : stop]
                begin = self.at
                self._skip(stop + 1 - self.at)
                if (row.lstrip("\t") if indented else row) == end:
                    self.documents.append((self.text[start:begin], first))
                    break
            else:
                self.unclosed.append(first)
        self._ends.clear()

    def _word(self) -> list[Word]:
        """The word that begins here; none for the target of a redirection, or the number before one."""
        parts: list[str] = []
        line, symbolic, split = self.line, False, False
        while self.at < len(self.text):
            char = self.text[self.at]
            place = _PLACE.match(self.text, self.at) if char == "<" else None
            if place:
                parts.append(place[0])
                symbolic = True
                self._skip(len(place[0]))
            elif self._substitutes():
                self._skip(1)
                parts.append(char + self._balanced())
                symbolic = True
            elif char in " \t" or char in _OPERATORS or char in "<>":
                if char != "(" or not parts or not parts[-1].endswith("="):
                    break
                parts.append(self._balanced())  # NAME=(an array)
                symbolic = True
            elif char == "'":
                parts.append(self._quoted())
            elif char == '"':
                inner, hidden = self._double()
                parts.append(inner)
                symbolic = symbolic or hidden
            elif char == "\\":
                if not self.text.startswith("\\\n", self.at):
                    parts.append(self.text[self.at + 1 : self.at + 2])
                self._skip(2)
            elif char in "$`":
                found, hidden = self._expansion()
                parts.append(found)
                symbolic, split = symbolic or hidden, split or hidden
            else:
                parts.append(char)
                self._skip(1)
        text = "".join(parts)
        number = (
            text.isdigit() and self.text[self.at : self.at + 1] in ("<", ">") and self.at < len(self.text)
        )
        if self._redirected or number:
            self._redirected = self._redirected and number
            return []
        return [Word(text, line, symbolic, split)]

    def _quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.unclosed.append(self.line)
            end = len(self.text)
        inner = self.text[self.at + 1 : end]
        self._skip(end + 1 - self.at)
        return inner

    def _double(self) -> tuple[str, bool]:
        """What a pair of double quotes holds, and whether an expansion is in it."""
        first, parts, symbolic = self.line, [], False
        self._skip(1)
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if char == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                parts.append("" if escaped == "\n" else escaped if escaped in '"\\$`' else char + escaped)
                self._skip(2)
            elif char in "$`":
                found, hidden = self._expansion()
                parts.append(found)
                symbolic = symbolic or hidden
            else:
                end = re.compile(r'["\\$`]').search(self.text, self.at)
                stop = end.start() if end else len(self.text)
                parts.append(self.text[self.at : stop])
                self._skip(stop - self.at)
        if self.at >= len(self.text):
            self.unclosed.append(first)
        self._skip(1)
        return "".join(parts), symbolic

    def _expansion(self) -> tuple[str, bool]:
        """A variable or command as it is written, and True; or a lone dollar sign and False."""
        start = self.at
        if self.text[self.at] == "`":
            end = self.text.find("`", self.at + 1)
            if end < 0:
                self.unclosed.append(self.line)
                end = len(self.text)
            self._skip(end + 1 - self.at)
            return self.text[start : self.at], True
        self._skip(1)
        following = self.text[self.at : self.at + 1]
        if following and following in "({":
            self._balanced()
        elif following == "'":  # $'ANSI C': escapes stay as they are written
            return self._quoted(), False
        else:
            name = re.compile(r"\w+|[@*#?$!-]").match(self.text, self.at)
            if name is None:
                return "$", False
            self._skip(len(name[0]))
        return self.text[start : self.at], True

    def _balanced(self) -> str:
        """Everything up to the bracket that closes the one here; quotes in it hide brackets."""
        start, first = self.at, self.line
        opening = self.text[self.at]
        closing, depth = _CLOSING[opening], 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "'":
                self._quoted()
                continue
            if char == '"':
                self._skip_double()
                continue
            depth += (char == opening) - (char == closing)
            self._skip(2 if char == "\\" else 1)
            if depth == 0:
                return self.text[start : self.at]
        self.unclosed.append(first)
        return self.text[start:]

    def _skip_double(self) -> None:
        """Pass a pair of double quotes without looking into it (and so without recursion)."""
        end = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL).match(self.text, self.at + 1)
        assert end is not None
        if end.end() >= len(self.text):
            self.unclosed.append(self.line)
        self._skip(end.end() + 1 - self.at)
