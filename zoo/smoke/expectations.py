"""Which kinds of requests an engine refuses beside a draft, and which it serves.

Whoever puts a draft before an agent must know what the server will not do. The hazards E008 and E009 say it
for versions of SGLang; a recipe may declare more (``gates.smoke.refuses``). The probe asks each kind once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from packaging.version import Version

from zoo.engines.flags import flag_value, has_flag
from zoo.engines.hazards import HAZARDS, profile_argv
from zoo.engines.sglang import BLOCK_FAMILIES
from zoo.recipe.model import Profile, Recipe
from zoo.smoke.settings import REFERENCE, SmokeSettings

_SCHEMA = '{"type": "object", "properties": {"city": {"type": "string"}}}'


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request, under the name of the field of /generate that makes it. ``sampling``: its sampling
    parameters, ``fields``: its other fields."""

    name: str
    sampling: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


TOP_K = Kind("top_k", {"temperature": 0.8, "top_k": 20})
TOP_P = Kind("top_p", {"temperature": 0.8, "top_p": 0.9})
LOGPROB = Kind("return_logprob", fields={"return_logprob": True})
JSON_SCHEMA = Kind("json_schema", {"json_schema": _SCHEMA})
REGEX = Kind("regex", {"regex": "[a-z]+"})
EBNF = Kind("ebnf", {"ebnf": 'root ::= "yes" | "no"'})
HIDDEN = Kind("return_hidden_states", fields={"return_hidden_states": True})
KINDS = (TOP_K, TOP_P, LOGPROB, JSON_SCHEMA, REGEX, EBNF, HIDDEN)
_GRAMMARS = (JSON_SCHEMA, REGEX, EBNF)


@dataclass(frozen=True, slots=True)
class Expected:
    """Whether a kind is ``refused`` (400); None: nobody has read this engine, and it is only reported.
    ``why`` says who says so."""

    kind: Kind
    refused: bool | None
    why: str


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it: the status of HTTP (0: no answer) and the server's words about an error."""

    expected: Expected
    status: int
    said: str


def expectations(
    recipe: Recipe, profile: Profile, settings: SmokeSettings, engine: str, version: Version
) -> tuple[Expected, ...]:
    """What the engine that runs should do with each kind."""
    if engine == REFERENCE:
        known = _of_reference()
    elif engine == "sglang":
        known = _of_sglang(recipe, profile, version)
    else:
        known = {}
    declared = dict.fromkeys(settings.refuses, (True, "gates.smoke.refuses"))
    unknown = (None, "nobody has read it")
    return tuple(Expected(kind, *(known | declared).get(kind.name, unknown)) for kind in KINDS)


def _of_sglang(recipe: Recipe, profile: Profile, version: Version) -> dict[str, tuple[bool, str]]:
    """validate_dflash_request of speculative/dflash_utils.py, grammar_manager.py, and the check of
    --enable-return-hidden-states of tokenizer_manager.py, in 0.5.14 and 0.5.23."""
    argv = profile_argv(recipe, profile)
    known = {TOP_K.name: (False, "sampling"), TOP_P.name: (False, "sampling")}
    grammars = [kind.name for kind in _GRAMMARS]
    if _in_range("E008", recipe, profile, version):
        known |= dict.fromkeys(grammars, (True, "E008"))
    elif flag_value(argv, "--grammar-backend") == "none" or has_flag(argv, "--skip-tokenizer-init"):
        known |= dict.fromkeys(grammars, (True, "no grammar backend"))
    else:
        known |= dict.fromkeys(grammars, (False, "a grammar backend"))
    if _in_range("E009", recipe, profile, version):
        known[LOGPROB.name] = (True, "E009")
    else:
        known[LOGPROB.name] = (False, "no hazard")
    overlaps = recipe.checkpoint.family in BLOCK_FAMILIES and not has_flag(argv, "--disable-overlap-schedule")
    if not has_flag(argv, "--enable-return-hidden-states"):
        known[HIDDEN.name] = (True, "--enable-return-hidden-states is not given")
    elif overlaps:
        known[HIDDEN.name] = (True, "the overlap schedule")
    return known


def _of_reference() -> dict[str, tuple[bool, str]]:
    """zoo/smoke/reference answers as SGLang 0.5.14 does with a draft."""
    served = (TOP_K, TOP_P)
    return {kind.name: (kind not in served, "the reference engine") for kind in KINDS}


def _in_range(code: str, recipe: Recipe, profile: Profile, version: Version) -> bool:
    """Whether a hazard threatens the version that runs, which may not be the profile's pin."""
    hazard = HAZARDS[code]
    return hazard.versions.contains(version, prereleases=True) and hazard.applies(recipe, profile)
