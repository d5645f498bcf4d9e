"""L rules: what a recipe's profile really runs and serves. (Of commands in a text: ``commands``.)"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from zoo.engines.flags import flag_value
from zoo.printable import quoted
from zoo.results import Finding, Severity
from zoo.rules.launches import Launch
from zoo.rules.profiles import argument, label
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_PYTHON = r"(?:\S*/)?python(?:3(?:\.\d+)?)? -m "
# The documented ways to start each engine, the program with or without its path.
_ENTRY_POINTS = {
    "sglang": re.compile(rf"{_PYTHON}sglang\.launch_server|(?:\S*/)?sglang serve"),
    "vllm": re.compile(rf"{_PYTHON}vllm\.entrypoints\.openai\.api_server|(?:\S*/)?vllm serve"),
}
_SHOWN = {"sglang": "python -m sglang.launch_server", "vllm": "vllm serve"}
# Variables that put other code into a process, or another program in its place (ld.so(8), python(1)).
_CHANGE_WHAT_RUNS = frozenset("LD_PRELOAD LD_AUDIT PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME".split())
# Arguments that name a model, as the snapshots call them, and the flags where there is no snapshot. Of each
# group one use is enough.
_MODELS = (
    ({"model_path", "model", "model_tag"}, {"--model-path", "--model"}),
    ({"speculative_draft_model_path"}, {"--speculative-draft-model-path", "--speculative-draft-model"}),
    ({"speculative_config"}, {"--speculative-config", "-sc"}),
)
_ALL_ADDRESSES = ("0.0.0.0", "::", "[::]")


@rule("L016", "launch-program", needs=("profiles",))
def profile_runs_something_else(subject: Subject) -> Iterable[Finding]:
    """A profile does not run its engine, or runs it with other code.

    What it does: wants one of the documented entry points as command (python -m sglang.launch_server, sglang
    serve, vllm serve, python -m vllm.entrypoints.openai.api_server), and none of LD_PRELOAD, LD_AUDIT, PATH,
    PYTHONPATH, PYTHONSTARTUP, PYTHONHOME in the environment.
    Why is this bad: the pin says which engine serves the draft; a wrapper or a variable can make it another
    one. Whoever runs the recipe's command trusts the pin.
    Example: command: sh -c "curl ... && python -m sglang.launch_server"
    Use instead: command: python -m sglang.launch_server; wrap zoo launch --format json outside the recipe.
    Sources: ld.so(8), LD_PRELOAD; docs.python.org, using/cmdline, environment variables.
    Since: 0.1.0
    """
    for launch in _of_profiles(subject):
        profile = launch.profile
        if not _ENTRY_POINTS[profile.engine].fullmatch(" ".join(launch.program)):
            first = (*launch.program, "")[0].partition("=")[0]  # what follows may be a credential
            message = f"{label(profile)}: a command of {quoted(first, 40)} that is no entry point"
            message += f" of {profile.engine}"
            yield Finding(message, f"write {_SHOWN[profile.engine]}", profile.where("/command"))
        for name in profile.environment:
            if name in _CHANGE_WHAT_RUNS:
                message = f"{label(profile)}: the variable {name} changes what runs"
                yield Finding(message, "drop it", profile.where(f"/environment/{name}"))


@rule("L017", "launch-model-twice", needs=("profiles",))
def model_is_named_twice(subject: Subject) -> Iterable[Finding]:
    """A profile names a model twice.

    What it does: counts {target} and {draft} in the arguments, and the uses of the flags that name the two
    models, under whatever names.
    Why is this bad: the last one wins: the command shows one model and serves another.
    Example: --model-path {target} and, lines later, --model-path org/other.
    Use instead: each of them once.
    Since: 0.1.0
    """
    for launch in _of_profiles(subject):
        profile = launch.profile
        for place in ("{target}", "{draft}"):
            holding = [index for index, line in enumerate(profile.args) if place in line]
            if " ".join(profile.args).count(place) > 1:
                message = f"{label(profile)}: {place} stands more than once in the arguments"
                yield Finding(message, "name each model once", profile.where(f"/args/{holding[-1]}"))
        for names, flags in _MODELS:
            uses = _uses(launch, names, flags)
            if len(uses) > 1:
                message = f"{label(profile)}: {uses[-1][0]} names a model that {uses[0][0]} named before"
                yield Finding(message, "name each model once", launch.where(uses[-1][1]))


def _uses(launch: Launch, names: set[str], flags: set[str]) -> list[tuple[str, int]]:
    """The flags that name one model, each with its word."""
    if launch.parsed is not None:
        return [(each.name, each.index) for each in launch.parsed.given if each.option.dest in names]
    words = [each.text.partition("=")[0] for each in launch.said]
    return [(word, index) for index, word in enumerate(words) if word in flags]


@rule("L018", "launch-host", severity=Severity.WARNING, needs=("profiles",))
def profile_listens_everywhere(subject: Subject) -> Iterable[Finding]:
    """A profile makes the server listen on every address of the machine.

    What it does: looks for --host 0.0.0.0 and --host ::.
    Why is this bad: SGLang and vLLM have no password by default, and answer whoever reaches the port. Where
    to listen is a matter of the machine, not of the draft.
    Example: --host 0.0.0.0
    Use instead: no --host; zoo launch NAME --host ADDRESS adds one.
    Since: 0.1.0
    """
    for launch in _of_profiles(subject):
        words = [each.text for each in launch.said]
        value = flag_value(words, "--host") if launch.parsed is None else launch.parsed.value("host")
        if value in _ALL_ADDRESSES:
            message = f"{label(launch.profile)}: --host {value} opens the server to the network"
            yield Finding(message, "drop it", argument(launch.profile, "--host"))


def _of_profiles(subject: Subject) -> Iterator[Launch]:
    return (each for each in subject.launches if each.command is None)
