"""L rules: what stands around the arguments of a command (shell, credentials), and notes on its version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zoo.engines.credentials import is_secret_flag, is_secret_variable
from zoo.engines.hazards import HAZARDS, Hazard
from zoo.engines.options import Option, Snapshot, snapshot, snapshots
from zoo.engines.shellwords import Word
from zoo.printable import quoted
from zoo.release.credentials import find
from zoo.results import Finding, Severity, Where
from zoo.rules.launches import Launch
from zoo.rules.profiles import engine_of, label
from zoo.rules.registry import rule
from zoo.rules.subject import Subject


@rule("L011", "launch-credential", needs=("profiles",))
def credential_in_a_command(subject: Subject) -> Iterable[Finding]:
    """A command or its environment holds a credential.

    What it does: looks for tokens of a fixed shape (Hugging Face, GitHub, AWS) in the arguments, in variables
    before the command and in docker -e; for any text as the value of a flag that takes a credential
    (--api-key, --admin-api-key, --ssl-keyfile-password, --hf-token), and of a variable whose name says so
    (..._API_KEY, ..._TOKEN, SECRET_KEY, ..._PASSWORD). A value that is a variable is none. Nothing is shown.
    Why is this bad: every user of the machine can read arguments (ps), SGLang and vLLM log them, and the
    file is copied. Whoever has the token has the account.
    Example: HF_TOKEN=hf_... sglang serve --model-path org/private
    Use instead: hf auth login, a secret of the scheduler, or docker run -e HF_TOKEN without a value.
    Sources: huggingface.co/docs/hub/security-tokens.
    Since: 0.1.0
    """
    for launch in subject.launches:
        for text in launch.program:  # env HF_TOKEN=... python
            name, _, value = text.partition("=")
            what = f"the program of the {label(launch.profile)}"
            named = is_secret_variable(name, value)
            yield from _credential(text, what, launch.profile.where("/command"), named=named)
        flags = dict(launch.credentials)
        for index, said in enumerate(launch.said):
            what = f"{flags[index]} of the" if index in flags else "an argument of the"
            yield from _credential(
                said.text, f"{what} {label(launch.profile)}", launch.where(index), named=index in flags
            )
        if launch.command is None:
            for name, value in launch.profile.environment.items():
                place = launch.profile.where(f"/environment/{name}")
                what = f"{quoted(name, 40)} in the environment of {label(launch.profile)}"
                yield from _credential(value, what, place, named=is_secret_variable(name, value))
        else:
            yield from _variables(launch.command.environment, launch.command.file)
            for word in launch.command.lost:
                flag, joined, value = word.text.partition("=")
                named = is_secret_flag([flag]) and bool(joined and value) and not word.symbolic
                place = Where(launch.command.file, word.line)
                yield from _credential(word.text, quoted(flag, 40), place, named=named)
    if subject.script is not None:
        yield from _variables(subject.script.assignments, subject.script.file)


def _variables(assigned: Iterable[tuple[str, Word]], file: str) -> Iterator[Finding]:
    for name, word in assigned:
        named = is_secret_variable(name, word.text) and not word.symbolic
        yield from _credential(word.text, f"variable {quoted(name, 40)}", Where(file, word.line), named=named)


def _credential(text: str, what: str, where: Where, *, named: bool) -> Iterator[Finding]:
    """``named``: the flag or variable that holds ``text`` is for credentials."""
    kind = find(text.encode("utf-8", "replace")) or ("a credential, written out" if named else None)
    if kind is not None:
        hint = "take it out and revoke it; give it to the server by its environment, from a secret"
        yield Finding(f"{what} holds {kind}", hint, where)


@rule("L012", "launch-cut-off", needs=("profiles",))
def command_is_cut_off(subject: Subject) -> Iterable[Finding]:
    """A shell does not read the whole command as one.

    What it does: looks for lines of flags right after a command (the backslash is missing, a comment or a
    blank follows it), and for quotes that are never closed.
    Why is this bad: the server starts without these flags, and often nobody notices.
    Example: a command of which one line ends without a backslash, and the next one begins with --tp-size 8.
    Use instead: a backslash as the very last character of every line but the last.
    Sources: POSIX, Shell Command Language, 2.2.1.
    Since: 0.1.0
    """
    for launch in subject.launches:
        for word in launch.command.lost if launch.command is not None else ():
            yield Finding(
                f"{label(launch.profile)}: {quoted(word.text.partition('=')[0], 40)} does not belong to it "
                "any more",
                "end the line before it with a backslash, with nothing after it",
                Where(launch.profile.file, word.line),
            )
    if subject.script is not None:
        for line in subject.script.unclosed:
            yield Finding("a quote is never closed", "close it", Where(subject.script.file, line))


@rule("L019", "launch-version", severity=Severity.NOTE, needs=("profiles",))
def image_is_of_another_version(subject: Subject) -> Iterable[Finding]:
    """A command was judged as another version than its image has.

    What it does: compares the version that --engine named with the tag of the container image.
    Why is this bad: it is not, where an update is planned; what the command does today, another run says.
    Example: --engine sglang==0.5.23 for lmsysorg/sglang:v0.5.14-cu130.
    Use instead: no --engine: the tag says the version.
    Since: 0.1.0
    """
    for launch in subject.commands:
        tag = launch.command.version if launch.command is not None else None
        if tag is not None and tag != str(launch.profile.version):
            message = (
                f"{label(launch.profile)}: judged as {engine_of(launch.profile)}, but the tag of its image "
                f"says {tag}"
            )
            yield Finding(message, f"leave --engine out to judge it as {tag}", launch.where(-1))


@rule("L013", "launch-hazard", severity=Severity.NOTE, needs=("profiles",))
def hazards_of_a_command(subject: Subject) -> Iterable[Finding]:
    """A hazard of this engine version applies to a command, even if the command steps around it.

    What it does: lists the hazards (docs/hazards.md) whose conditions a command that was found in a text
    fulfils, without a recipe those that the command alone decides. Of profiles, E007 says it.
    Why is this bad: whoever changes the command may run into one.
    Example: --speculative-draft-attention-backend fa4 for sglang==0.5.14 needs --kv-cache-dtype bf16 (E002).
    Use instead: The command as it is, if you know.
    Since: 0.1.0
    """
    for launch in subject.commands:
        for hazard in HAZARDS.values():
            if hazard.threatens(subject.recipe, launch.profile):
                message = f"{label(launch.profile)}: {hazard.code} {hazard.name}: {_plain(hazard.card)}"
                yield Finding(message, hazard.advice, launch.where(-1))


@rule("L014", "launch-hazard-over", severity=Severity.NOTE, needs=("profiles",))
def hazards_that_are_over(subject: Subject) -> Iterable[Finding]:
    """A hazard of older versions of the engine is over in this one.

    What it does: lists the hazards that a command that was found in a text would have with an older version
    whose flags are known, and has not with its own.
    Why is this bad: it is not; caveats and flags that stepped around it may go.
    Example: the fa4 draft of sglang==0.5.23 has a KV dtype of its own: E002 ended with 0.5.16.
    Use instead: No such caveat, and the flag only if the target needs it.
    Since: 0.1.0
    """
    for launch in subject.commands:
        older = [each.version for each in _older(launch)]
        for hazard in HAZARDS.values():
            if _is_over(hazard, launch, older) and hazard.fits(subject.recipe, launch.profile):
                message = (
                    f"{label(launch.profile)}: {hazard.code} {hazard.name} ({hazard.range}) is over in "
                    f"{engine_of(launch.profile)}"
                )
                hint = f"what steps around it may go; the advice was: {hazard.advice}"
                yield Finding(message, hint, launch.where(-1))


def _is_over(hazard: Hazard, launch: Launch, older: list[str]) -> bool:
    from packaging.version import Version

    engine, version = launch.profile.engine, launch.profile.version
    return not hazard.holds(engine, version) and any(hazard.holds(engine, Version(each)) for each in older)


@rule("L015", "launch-flag-changed", severity=Severity.NOTE, needs=("flags",))
def flags_that_changed(subject: Subject) -> Iterable[Finding]:
    """A flag of a command means something else than in the version before.

    What it does: compares the flags of a command that was found in a text with those of the closest older
    version that is known: choices, type, default and deprecation.
    Why is this bad: a command that worked may be refused or mean something else.
    Example: --attention-backend cutlass_mla, which sglang==0.5.23 has no more.
    Use instead: The command, after a look at what changed.
    Sources: the released wheels (zoo engines show ENGINE==VERSION).
    Since: 0.1.0
    """
    for launch in subject.commands:
        older = _older(launch)
        if not older or launch.parsed is None:
            continue
        for given in {each.option.dest: each for each in launch.parsed.given}.values():
            before = older[-1].exact(given.name)
            changes = ["it is new"] if before is None else list(_changes(before, given.option))
            if changes and not given.option.positional:
                message = (
                    f"{label(launch.profile)}: since {older[-1].title} {given.name}: {'; '.join(changes)}"
                )
                yield Finding(
                    message, "check that the command still says what you mean", launch.where(given.index)
                )


def _older(launch: Launch) -> list[Snapshot]:
    """The snapshots of older versions of the engine, the closest one last."""
    from packaging.version import Version

    engine, version = launch.profile.engine, launch.profile.version
    pairs = [pair for pair in snapshots() if pair[0] == engine and Version(pair[1]) < version]
    return [known for pair in pairs if (known := snapshot(*pair)) is not None]


def _changes(before: Option, after: Option) -> Iterator[str]:
    if before.type != after.type or before.nargs != after.nargs:
        yield "another type"
    if before.default != after.default:
        yield f"the default was {_shown(before.default)} and is {_shown(after.default)}"
    if before.deprecated is None and after.deprecated is not None:
        yield "deprecated"
    old, new = set(before.choices or ()), set(after.choices or ())
    if before.choices is not None and after.choices is not None:
        gone = sorted(str(each) for each in old - new)
        if gone:
            yield f"without {', '.join(gone)}"
        if new - old:
            yield f"{len(new - old)} more choices"


def _shown(default: object) -> str:
    return "none" if default is None else quoted(str(default), 40)


def _plain(markdown: str) -> str:
    """The sentence of a card without its marks of code."""
    return markdown.replace("`", "")
