"""Rendering a card: a sandboxed template over the context, behind metadata that always comes first.

A zoo's ``templates/card.md.j2`` replaces the shipped template, or extends it and overrides blocks
(``{% extends "zoo/card.md.j2" %}``). Templates of a pull request are untrusted: they can print and branch and
loop over the context, and nothing else (``zoo.card.sandbox``). Whatever they print from it is escaped, and
what they write themselves hides nothing (``zoo.card.authored``).
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from zoo.card import authored, markdown, metadata
from zoo.card.context import card_context
from zoo.card.notices import notice_of, with_notice
from zoo.card.plots import load_plots
from zoo.card.sandbox import SHIPPED, Sandbox
from zoo.card.standing import Standing
from zoo.checkpoint.content import open_regular, read_up_to
from zoo.errors import TemplateError
from zoo.evidence import Evidence
from zoo.printable import printable, visible
from zoo.recipe.data import load_data
from zoo.recipe.model import Recipe
from zoo.workspace import Zoo

NAME = "card.md.j2"
# How every card begins, whatever the template: a draft that looks like a model is served as one.
NOTICE = "> **This is a draft for speculative decoding, not a standalone model.**"
MAX_TEMPLATE_BYTES = 64 * 1024
# The longest cards of the Hub have about 100 kB; a loop in a loop can write without end.
MAX_CARD_CHARACTERS = 1024 * 1024


def card_path(zoo: Zoo, recipe: Recipe) -> Path:
    """Where the card of the recipe's version lies: ``release/NAME/VERSION/README.md``."""
    return zoo.release_folder(recipe.name, recipe.version) / "README.md"


def render_card(
    zoo: Zoo, recipe: Recipe, evidence: tuple[Evidence, ...] = (), standing: Standing | None = None
) -> str:
    """The whole README.md, the same for the same recipe, data manifests, evidence, plots, standing, withdrawn
    versions and template.

    Raises:
        TemplateError: the template is wrong, asks for a value that is not there or for something that
            templates may not do, or the metadata is not what the Hub reads.
    """
    data = metadata.metadata(recipe)
    wrong = metadata.problems(data)
    if wrong:
        hint = "mend license, tags or base in the recipe, see: zoo rule K003"
        raise TemplateError(f"{recipe.file}: the card's metadata is not valid: {wrong[0]}", hint=hint)
    manifests, _ = load_data(zoo, recipe)  # what is wrong with one is R041
    plots = load_plots(zoo, recipe, evidence)
    body = _render(zoo, card_context(recipe, evidence, standing, manifests, plots))
    return with_notice(metadata.front_matter(data) + "\n" + body, notice_of(zoo, recipe.name))


def _render(zoo: Zoo, context: Mapping[str, Any]) -> str:
    environment = Sandbox(lambda name: _source(zoo, name))
    try:
        parts: list[str] = []
        size = 0
        for part in environment.get_template(NAME).generate(_marked(context)):
            size += len(part)
            if size > MAX_CARD_CHARACTERS:
                raise ValueError(f"the card is longer than {MAX_CARD_CHARACTERS:,} characters")
            parts.append(part)
    except jinja2.TemplateSyntaxError as error:
        raise _refused(
            f"{error.filename or error.name or NAME}:{error.lineno}", error.message or "syntax error"
        ) from None
    except (
        jinja2.TemplateError,
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        SyntaxError,
        RecursionError,
        MemoryError,
    ) as error:
        raise _refused(_place(error), str(error) or type(error).__name__) from None
    text = re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip() + "\n"
    shown = visible(text)
    if shown != text:
        number = next(
            index
            for index, pair in enumerate(zip(text.split("\n"), shown.split("\n"), strict=True), 1)
            if len(set(pair)) > 1
        )
        raise _refused(
            NAME,
            'it writes a character that does not print, or what a CI runner takes for a command ("::" where '
            f'a line begins, "##["), at line {number} of the card\'s body',
        )
    if not text.startswith(NOTICE):
        hint = f"keep the block notice of {SHIPPED}, or begin the template with: {NOTICE}"
        place = zoo.shown(zoo.templates / NAME)
        raise TemplateError(
            f"{place}: the first line after the metadata must say that this is a draft", hint=hint
        )
    wrong = authored.problem(parts)
    if wrong is not None:
        raise _refused(zoo.shown(zoo.templates / NAME), wrong)
    return text


def _source(zoo: Zoo, name: str) -> tuple[str, str, Callable[[], bool]] | None:
    """The text of a template: of the zoo, or of the package if it is asked for or the zoo has none."""
    path = zoo.templates / NAME
    if name == SHIPPED or not os.path.lexists(path):
        path, shown = Path(__file__).parent / "templates" / NAME, SHIPPED
    else:
        shown = zoo.shown(path)
        if not Path(os.path.realpath(path)).is_relative_to(zoo.root.resolve()):
            raise TemplateError(
                f"{shown}: a link that leads out of the zoo", hint="put the file itself there"
            )
    try:
        with open_regular(path) as file:
            raw = read_up_to(file, MAX_TEMPLATE_BYTES + 1)
    except OSError as error:
        raise TemplateError(
            f"{shown}: cannot be read ({error.strerror})", hint="put a readable file there, or remove it"
        ) from None
    if len(raw) > MAX_TEMPLATE_BYTES:
        raise TemplateError(
            f"{shown}: larger than {MAX_TEMPLATE_BYTES:,} bytes", hint="keep data out of the template"
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TemplateError(
            f"{shown}: not UTF-8 at byte {error.start}", hint="save the file as UTF-8"
        ) from None
    return text, shown, lambda: True


def _marked(value: Any) -> Any:
    """The context as a template sees it: markup of our own is marked as such, all other text is not."""
    if isinstance(value, markdown.Markdown):
        return Markup(value)
    if isinstance(value, Mapping):
        return {key: _marked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_marked(item) for item in value]
    return value


def _place(error: BaseException) -> str:
    """The template and line that an exception came through last (jinja rewrites its tracebacks to template
    lines). Nothing is read for it: what a template is called is no file of the folder where zoo runs."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    places = [f"{file}:{line}" for file, line in frames if file.endswith(".j2")]
    return places[-1] if places else NAME


def _refused(place: str, message: str) -> TemplateError:
    hint = f"mend the template; {SHIPPED}, which it can extend, shows the values that there are"
    return TemplateError(f"{place}: {printable(message, keep='', limit=300)}", hint=hint)
