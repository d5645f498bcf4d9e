"""What a runner of GitHub Actions does with a ``run:`` step: expressions become the environment, bash runs
the text with the GITHUB_* files, and the files are read as the runner reads them.

The files are taken apart as ``src/Runner.Worker/FileCommandManager.cs`` of actions/runner does it. An
expression is a lookup: a test says what each means, and one that it does not know fails.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.report.runner import Command, commands

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_FILES = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE")


@dataclass(frozen=True)
class Ran:
    """What a step left behind. ``commands``: those in its log that the runner would obey."""

    status: int
    log: str
    outputs: dict[str, str]
    summary: str
    files: dict[str, str]

    @property
    def commands(self) -> list[Command]:
        return commands(_not_stopped(self.log))

    def annotations(self, kind: str) -> list[Command]:
        return [each for each in self.commands if each.name == kind]


def document(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def steps(path: Path, job: str | None = None) -> dict[str, dict[str, Any]]:
    """The steps of an action, or of a ``job`` of a workflow, by name."""
    data = document(path)
    listed = data["runs"]["steps"] if job is None else data["jobs"][job]["steps"]
    return {step["name"]: step for step in listed}


def run_step(
    step: Mapping[str, Any],
    where: Path,
    temp: Path,
    *,
    expressions: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Ran:
    """Run the ``run:`` text of ``step`` in the folder ``where``, with ``temp`` as RUNNER_TEMP. ``env``: what
    job and runner set beside the ``env:`` of the step."""
    files = temp / "_runner_file_commands"
    files.mkdir(parents=True, exist_ok=True)
    paths = {name: files / name for name in (*_FILES, "GITHUB_STEP_SUMMARY")}
    for path in paths.values():
        path.write_text("")
    script = files / "step.sh"
    script.write_text(step["run"])
    stated = {key: _filled(str(value), expressions or {}) for key, value in step.get("env", {}).items()}
    ran = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
        cwd=where,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(temp),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HF_HUB_OFFLINE": "1",
            "RUNNER_TEMP": str(temp),
            **{name: str(path) for name, path in paths.items()},
            **stated,
            **(env or {}),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    read = {name: path.read_text() for name, path in paths.items()}
    log = ran.stdout.decode(errors="surrogateescape")
    return Ran(ran.returncode, log, pairs(read["GITHUB_OUTPUT"]), read["GITHUB_STEP_SUMMARY"], read)


def pairs(text: str) -> dict[str, str]:
    """NAME=VALUE and NAME<<DELIMITER of a file of the runner.

    Raises ValueError where the runner fails the step.
    """
    found: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if heredoc >= 0 and (equals < 0 or heredoc < equals):
            name, _, delimiter = line.partition("<<")
            if not name or not delimiter:
                raise ValueError(f"invalid format {line!r}")
            value = []
            for inner in lines:
                if inner == delimiter:
                    break
                value.append(inner)
            else:
                raise ValueError(f"matching delimiter not found {delimiter!r}")
            found[name] = "\n".join(value)
        elif equals > 0:
            found[line[:equals]] = line[equals + 1 :]
        else:
            raise ValueError(f"invalid format {line!r}")
    return found


def _filled(text: str, expressions: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda match: expressions[match[1]], text)


def _not_stopped(log: str) -> str:
    """The log without what stands between ``::stop-commands::WORD`` and ``::WORD::``."""
    kept, word = [], ""
    for line in re.split(r"\r\n|\r|\n", log):
        if word:
            word = "" if line.strip() == f"::{word}::" else word
            continue
        stop = re.fullmatch(r"\s*::stop-commands::(.+)", line)
        word = stop[1] if stop else ""
        if not stop:
            kept.append(line)
    return "\n".join(kept)
