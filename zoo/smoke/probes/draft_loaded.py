"""Whether the server says that it runs this draft: its resolved arguments, and the two lines of its log that
tell what the draft worker made of them.

    Initialized DFLASH draft runner. attention_backend=triton, model=DFlashDraftModel, block_size=8, ...
    DFLASH draft runner ready. mask_token=<|MASK|>, mask_token_id=4, mask_token_id_override=4

(SGLang 0.5.14 and 0.5.23, speculative/dflash_worker_v2.py; the reference engine has a line of its own.) The
model is the class that loaded. mask_token is the default text wherever the config gives an id, so that only
the id is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from zoo.engines.hazards import profile_argv
from zoo.engines.sglang import READ, algorithm, draft_attention_backend
from zoo.evidence import Result
from zoo.printable import printable
from zoo.smoke.probes.verdicts import failed, not_checked, passed, proposals_of
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import LOADED, REFERENCE

# What the lines begin with, by engine.
_LINES: Mapping[str, tuple[str, ...]] = {
    "sglang": ("Initialized DFLASH draft runner. ", "DFLASH draft runner ready. "),
    REFERENCE: ("reference engine: draft: ",),
}
_VALUE = re.compile(r"(\w+)=([^,]*)(?:,|$)")
_RELEASE = re.compile(r"v\d+\.\d+\.\d+\S*")
# Where the values of a log line must equal those of the recipe.
_COMPARED = ("attention_backend", "model", "block_size", "mask_token_id")


def judge(served: Served) -> Result:
    if not served.info:
        return not_checked(LOADED, "the server gave no server_info")
    resolved = _told(served.info)
    problems = list(_against(resolved, _wanted(served), "server_info"))
    told = _public(resolved, served.draft)
    unsure = ""
    if not served.draft and not problems:
        if not _is_named(served):
            return not_checked(LOADED, _unnamed(served), told)
        other, unsure = _by_name(served)
        problems += [other] if other else []
    if isinstance(served.log, Absent):
        return _result(problems, told, f"by server_info alone: {served.log.reason}{unsure}")
    logged, missing = lines(served.log, served.engine)
    told |= {
        f"log_{key}": _shown(" ".join(sorted(values))) for key, values in logged.items() if key in _COMPARED
    }
    if missing and _must_log(served):
        problems += [f"the log has no line {missing!r}, which a loaded draft gives"]
    problems += _against_log(logged, _wanted_in_log(served))
    return _result(problems, told, unsure.removeprefix("; "))


def lines(log: str, engine: str) -> tuple[Mapping[str, frozenset[str]], str]:
    """The values in the lines of the draft worker (of all ranks), and the beginning of a line that is not
    there."""
    found: dict[str, set[str]] = {}
    missing = ""
    for beginning in _LINES.get(engine, ()):
        matches = [line.split(beginning, 1)[1] for line in log.splitlines() if beginning in line]
        if not matches:
            missing = missing or beginning.strip()
        for values in matches:
            for key, value in _VALUE.findall(values):
                found.setdefault(key, set()).add(value.strip())
    return {key: frozenset(values) for key, values in found.items()}, missing


def _told(info: Mapping[str, Any]) -> dict[str, Any]:
    """What /server_info says of speculation."""
    keys = ("speculative_algorithm", "speculative_draft_model_path", "speculative_num_draft_tokens")
    return {key: info[key] for key in keys if info.get(key) is not None}


def _public(told: Mapping[str, Any], draft: str) -> dict[str, Any]:
    """The same as a record may say it: the draft's folder by its place in the command."""
    shown = {key: "{draft}" if value == draft else value for key, value in told.items()}
    return {key: _shown(value) if isinstance(value, str) else value for key, value in shown.items()}


def _wanted(served: Served) -> dict[str, Any]:
    """SGLang counts the anchor among the draft tokens of DFLASH and DSPARK; of a chain, the tree's root."""
    wanted: dict[str, Any] = {"speculative_algorithm": algorithm(profile_argv(served.recipe, served.profile))}
    if proposals_of(served):
        wanted["speculative_num_draft_tokens"] = proposals_of(served) + 1
    if served.draft:
        wanted["speculative_draft_model_path"] = served.draft
    return wanted


def _is_named(served: Served) -> bool:
    """Whether the path of somebody's server is the recipe's repository, or a folder of the recipe's name."""
    path = str(served.info.get("speculative_draft_model_path") or "")
    return path == served.recipe.repo or PurePosixPath(path).name == served.recipe.name


def _unnamed(served: Served) -> str:
    path = _shown(served.info.get("speculative_draft_model_path"))
    return (
        f"the server's draft is {path}, and its name does not tell whether this is {served.recipe.name}: "
        f"only {served.recipe.repo}, or a folder of the name {served.recipe.name}, is taken for it"
    )


def _by_name(served: Served) -> tuple[str, str]:
    """Of a server that somebody else started: what contradicts the recipe in the name and the revision of its
    draft, and what they leave open. A release is the tag vVERSION of the recipe's repository."""
    path = served.info.get("speculative_draft_model_path")
    revision = served.info.get("speculative_draft_model_revision")
    if path != served.recipe.repo:
        return "", f"; whether the folder {_shown(path)} holds this draft, only its name says"
    release = f"v{served.recipe.version}"
    if revision == release:
        return "", ""
    if isinstance(revision, str) and _RELEASE.fullmatch(revision):
        return f"it serves {_shown(path)} {revision}, not {release}", ""
    return "", f"; whether revision {_shown(revision)} is {release}, its name does not tell"


def _against(told: Mapping[str, Any], wanted: Mapping[str, Any], where: str) -> Iterator[str]:
    for key, value in wanted.items():
        if key not in told:
            yield f"{where} has no {key}: the server runs without a draft"
        elif str(told[key]) != str(value):
            yield f"{where} says {key} {_shown(told[key])}, not {_shown(value)}"


def _wanted_in_log(served: Served) -> dict[str, str]:
    draft = served.recipe.draft
    backend = draft_attention_backend(profile_argv(served.recipe, served.profile))
    wanted = {
        "attention_backend": backend,
        "model": next(iter(draft.config.get("architectures", ())), None),
        "block_size": draft.block_size,
        "mask_token_id": draft.mask_token_id,
    }
    if served.is_reference:  # it has one attention, whatever the profile says
        del wanted["attention_backend"]
    return {key: str(value) for key, value in wanted.items() if value is not None}


def _against_log(logged: Mapping[str, Iterable[str]], wanted: Mapping[str, str]) -> Iterator[str]:
    for key, value in wanted.items():
        for other in sorted(set(logged.get(key, ())) - {value}):
            yield f"the log says {key}={_shown(other)}, the recipe {_shown(value)}"


def _must_log(served: Served) -> bool:
    """Of SGLang only the DFLASH worker has these lines, in the versions that were read."""
    if served.is_reference:
        return True
    dflash = algorithm(profile_argv(served.recipe, served.profile)) == "DFLASH"
    return dflash and served.engine == "sglang" and READ.contains(served.version, prereleases=True)


def _result(problems: list[str], told: Mapping[str, Any], reason: str) -> Result:
    return failed(LOADED, problems, told) if problems else passed(LOADED, told, reason)


def _shown(value: object) -> str:
    return printable(str(value), keep="", limit=200)
