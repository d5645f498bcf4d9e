"""Write the pages that are made from the code: docs/cli.md and docs/rules.md.

    python -m scripts.docs

tests/docs/test_generated_pages.py fails where a committed page is not what this writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click

from zoo.cli.group import zoo
from zoo.cli.rule import as_rule
from zoo.engines.hazards import HAZARDS
from zoo.printable import printable
from zoo.rules import RULES, Rule

DOCS = Path(__file__).parent.parent / "docs"
_GENERATED = "<!-- Written by scripts/docs.py (make docs). Edit the code, or that script. -->"
_CODE_SPAN = re.compile(r"(``.+?``|`[^`]+`)")
# What starts markup in the middle of a line. An underscore between letters does not.
_SPECIAL = re.compile(r"[\\*<>\[\]]|(?<!\w)_|_(?!\w)")
_LETTERS = {
    "R": "The recipe",
    "F": "Files, headers and the index",
    "I": "The inventory of tensors",
    "C": "The config, and what it is compared with",
    "D": "Every byte (deep level)",
    "B": "The base draft, and the release before",
    "E": "Hazards of engine versions",
    "L": "Launch commands",
    "T": "Replay",
    "S": "Smoke",
    "K": "Card and evidence",
    "P": "Release and signature",
    "V": "A change: pull requests",
    "X": "Hostile input",
}

_CLI_HEAD = """\
# The command line

Every command prints its result to stdout and the rest to stderr; colour and progress are for terminals only.
`--format json` is stable, and its schemas are in `zoo/schemas`.

| exit status | meaning |
|---|---|
| 0 | every check of the requested level ran, and found no error |
| 1 | an error was found |
| 2 | a check could not run, or wrong usage |
| 130 | interrupted: 128 and the number of the signal |

| variable | meaning |
|---|---|
| `ZOO` | the zoo to work on, as `--zoo` |
| `HF_TOKEN`, `HF_ENDPOINT`, `HF_HUB_OFFLINE` | token, hub and offline mode, as huggingface_hub reads them |
| `XDG_CACHE_HOME` | where results of `--deep` are kept (below `draft-zoo/scans`), else `~/.cache` |
| `NO_COLOR` | no colour, also on a terminal |

Settings stand in `zoo.toml`, or under `[tool.zoo]` in `pyproject.toml`: `publish_to`,
`endpoints` ([remote.md](remote.md)), `trust` ([trust.md](trust.md)) and `severity` ([rules.md](rules.md)).

## Completion in a shell

Commands, options and the names of recipes are completed, without reading any recipe. Set it up once, for the
shell that you use:

```sh
echo 'eval "$(_ZOO_COMPLETE=bash_source zoo)"' >> ~/.bashrc
echo 'eval "$(_ZOO_COMPLETE=zsh_source zoo)"' >> ~/.zshrc
_ZOO_COMPLETE=fish_source zoo > ~/.config/fish/completions/zoo.fish
```

The function is made by click, which needs bash 4.4 or newer.
"""

_RULES_HEAD = """\
# Rules

What `zoo rule CODE` prints, for all codes. A code is never reused.

An **error** makes the exit status 1, a **warning** does with `--strict`, a **note** never does. A zoo can
change that for itself, and every finding then says so:

```toml
[tool.zoo]
severity = {R020 = "error", E005 = "note"}
```

Any rule can be raised. Warnings and notes can be lowered, and so can errors of B, E and L rules, which are
about the base draft, an engine's hazard or a launch command. Every other error means a broken draft and
cannot be lowered; an unknown code is refused. A gate of a release names the errors that the settings lowered.

A **waiver** in a recipe is narrower: one rule, one draft, with a reason and a last day
(`waivers: [{code: ..., reason: ..., until: 2027-03-01}]`). What can be waived is what can be lowered. Until
that day the findings are notes that carry the reason; after it they count again, and R023 says so.
`zoo verify NAME --now 2027-03-02` shows today what will be then, and `zoo outdated` lists waivers that end
soon. A waiver also covers a finding that the settings raised: it is a decision about one draft.
"""


def cli_page() -> str:
    """docs/cli.md: every command with its arguments and options."""
    context = click.Context(zoo, info_name="zoo")
    parts = [_GENERATED, _CLI_HEAD.rstrip(), *_command(zoo, context, 2)]
    return "\n\n".join(parts) + "\n"


def rules_page() -> str:
    """docs/rules.md: every rule, and every hazard that no rule of its own reports."""
    known = {code: as_rule(hazard) for code, hazard in HAZARDS.items()} | RULES
    parts = [_GENERATED, _RULES_HEAD.rstrip()]
    for letter, title in _LETTERS.items():
        chosen = [known[code] for code in sorted(known) if code.startswith(letter)]
        if not chosen:
            continue
        index = " · ".join(f"[{rule.code}](#{rule.code})" for rule in chosen)
        parts += [f"## {letter}: {title}", index, *map(_rule, chosen)]
    return "\n\n".join(parts) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {"cli.md": cli_page, "rules.md": rules_page}


def _command(command: click.Command, context: click.Context, depth: int) -> Iterator[str]:
    """The section of a command, and those of the commands below it."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"{'#' * depth} `{context.command_path}`"
    yield f"```text\n{usage}\n```"
    yield from (_text(" ".join(each.split())) for each in (command.help or "").split("\n\n"))
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    rows = [record for each in options if (record := each.get_help_record(context)) is not None]
    rows = [(names, about) for names, about in rows if not names.endswith("--help")]
    if rows:
        lines = [f"| `{_cell(names)}` | {_cell(_text(' '.join(about.split())))} |" for names, about in rows]
        yield "\n".join(["| option | |", "|---|---|", *lines])
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            inner = click.Context(below, info_name=name, parent=context)
            yield from _command(below, inner, depth if command is zoo else depth + 1)


def _rule(rule: Rule) -> str:
    lines = [
        f'<a id="{rule.code}"></a>',
        "",
        f"### {rule.code} {rule.name}",
        "",
        f"*{rule.severity}, {rule.level} level.* {_text(rule.summary)}",
        "",
    ]
    lines += [f"- **{heading}:** {_text(body)}" for heading, body in rule.sections.items()]
    return "\n".join(lines)


def _text(text: str) -> str:
    """Plain text as Markdown; code spans stay what they are."""
    parts = _CODE_SPAN.split(printable(text))
    return "".join(part if _CODE_SPAN.fullmatch(part) else _SPECIAL.sub(r"\\\g<0>", part) for part in parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
        print(f"wrote docs/{name}")


if __name__ == "__main__":
    main()
