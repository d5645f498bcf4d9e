"""Rendering a card: a sandboxed template over the context, behind metadata that always comes first.

A zoo's ``templates/card.md.j2`` replaces the shipped template, or extends it and overrides blocks
(``{% extends "zoo/card.md.j2" %}``). Templates of a pull request are untrusted: they can print and branch and
loop over the context, and nothing else. They see no attributes of text, no globals, no arithmetic and four
filters, so that every piece of text from outside is escaped.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from zoo.card import markdown, metadata
from zoo.card.context import card_context
from zoo.card.standing import Standing
from zoo.errors import TemplateError
from zoo.evidence import Evidence
from zoo.printable import printable, quoted
from zoo.recipe.model import Recipe
from zoo.workspace import Zoo

SHIPPED = Path(__file__).parent / "templates"
NAME = "card.md.j2"
MAX_TEMPLATE_BYTES = 256 * 1024
# The longest cards of the Hub have about 100 kB; a loop in a loop can write without end.
MAX_CARD_CHARACTERS = 1024 * 1024
_TEMPLATE_NAME = re.compile(r"(zoo/)?[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")


def card_path(zoo: Zoo, recipe: Recipe) -> Path:
    """Where the card of the recipe's version lies: ``release/NAME/VERSION/README.md``."""
    return zoo.release_folder(recipe.name, recipe.version) / "README.md"


def render_card(
    zoo: Zoo, recipe: Recipe, evidence: tuple[Evidence, ...] = (), standing: Standing | None = None
) -> str:
    """The whole README.md, the same for the same recipe, evidence, standing and template.

    Raises:
        TemplateError: the template is wrong, asks for a value that is not there or for something that
            templates may not do, or the metadata is not what the Hub reads.
    """
    data = metadata.metadata(recipe)
    wrong = metadata.problems(data)
    if wrong:
        hint = "mend license, tags or base in the recipe, see: zoo rule K003"
        raise TemplateError(f"{recipe.file}: the card's metadata is not valid: {wrong[0]}", hint=hint)
    body = _render(zoo, card_context(recipe, evidence, standing))
    return metadata.front_matter(data) + "\n" + body


class _Text(str):
    """Text from outside inside a template: wherever it is printed, joined or concatenated, it comes out
    escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        return markdown.inline(self)


class _Sandbox(ImmutableSandboxedEnvironment):
    # Text that went through an operator or a method would be new text, of which nobody knows that it must be
    # escaped.
    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> NoReturn:
        raise SecurityError(f"a card template does not calculate ({operator})")

    def wrap_str_format(self, value: Any) -> None:
        """Without the sandbox's own ``str.format``, that method is an attribute of text like any other."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return not isinstance(obj, str) and super().is_safe_attribute(obj, attr, value)


def _render(zoo: Zoo, context: Mapping[str, Any]) -> str:
    environment = _Sandbox(
        loader=jinja2.FunctionLoader(lambda name: _source(zoo, name)),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.clear()
    environment.tests = {name: environment.tests[name] for name in ("defined", "undefined")}
    environment.filters = {
        "code": _filter(markdown.code),
        "line": _filter(markdown.line),
        "prose": _filter(markdown.prose),
        "length": len,
    }
    try:
        parts: list[str] = []
        size = 0
        for part in environment.get_template(NAME).generate(_shielded(context)):
            size += len(part)
            if size > MAX_CARD_CHARACTERS:
                raise ValueError(f"the card is longer than {MAX_CARD_CHARACTERS:,} characters")
            parts.append(part)
    except jinja2.TemplateSyntaxError as error:
        raise _refused(
            f"{error.filename or error.name or NAME}:{error.lineno}", error.message or "syntax error"
        ) from None
    except jinja2.TemplateNotFound as error:
        hint = f'the shipped template is called "zoo/{NAME}"'
        raise TemplateError(f"there is no template {quoted(str(error.name))}", hint=hint) from None
    except (
        jinja2.TemplateError,
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise _refused(_place(error), str(error)) from None
    text = re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip() + "\n"
    shown = printable(text)
    if shown != text:
        number = next(
            index
            for index, pair in enumerate(zip(text.split("\n"), shown.split("\n"), strict=True), 1)
            if len(set(pair)) > 1
        )
        raise _refused(
            NAME, f"it writes a character that does not print, at line {number} of the card's body"
        )
    return text


def _source(zoo: Zoo, name: str) -> tuple[str, str, Callable[[], bool]] | None:
    """The text of a template: of the zoo or, under ``zoo/`` or where the zoo has none, of the package."""
    if not _TEMPLATE_NAME.fullmatch(name):
        return None
    path = zoo.templates / name
    if name.startswith("zoo/") or (name == NAME and not path.exists()):
        shown = f"zoo/{name.removeprefix('zoo/')}"
        path = SHIPPED / name.removeprefix("zoo/")
    else:
        shown = zoo.shown(path)
        if not path.resolve().is_relative_to(zoo.root.resolve()):
            raise TemplateError(
                f"{shown}: a link that leads out of the zoo", hint="put the file itself there"
            )
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_TEMPLATE_BYTES + 1)
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TemplateError(
            f"{shown}: not UTF-8 at byte {error.start}", hint="save the file as UTF-8"
        ) from None
    if len(raw) > MAX_TEMPLATE_BYTES:
        raise TemplateError(
            f"{shown}: larger than {MAX_TEMPLATE_BYTES:,} bytes", hint="keep data out of the template"
        )
    return text, shown, lambda: True


def _shielded(value: Any) -> Any:
    """The context as a template sees it: our own markup as it is, all other text shielded."""
    if isinstance(value, markdown.Markdown):
        return Markup(value)
    if isinstance(value, str):
        return _Text(value)
    if isinstance(value, Mapping):
        return {key: _shielded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shielded(item) for item in value]
    return value


def _filter(function: Callable[[str], markdown.Markdown]) -> Callable[[Any], Markup]:
    def apply(value: Any) -> Markup:
        if isinstance(value, jinja2.Undefined):
            value._fail_with_undefined_error()
        return value if isinstance(value, Markup) else Markup(function(str(value)))

    return apply


def _printed(value: Any) -> Any:
    """What a template prints. Only text and numbers reach the page, and whatever is not our own markup is
    escaped here too: ``{% autoescape false %}`` is no way around it."""
    if isinstance(value, (Markup, jinja2.Undefined)) or (
        isinstance(value, int) and not isinstance(value, bool)
    ):
        return value
    if isinstance(value, str):
        return Markup(markdown.inline(value))
    raise ValueError(f"a value of type {type(value).__name__} cannot be printed")


def _place(error: BaseException) -> str:
    """The template and line that an exception came through last (jinja rewrites its tracebacks to template
    lines)."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(".j2")]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else NAME


def _refused(place: str, message: str) -> TemplateError:
    hint = "mend the template; the values that it can use are those of zoo/card/context.py"
    return TemplateError(f"{place}: {printable(message, keep='', limit=300)}", hint=hint)
