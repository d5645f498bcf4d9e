"""What servers say, made up: for probes that are judged without a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from packaging.version import Version

from tests.conftest import REPOSITORY
from zoo.recipe.load import usable_recipe
from zoo.smoke.client import Answer
from zoo.smoke.counts import ServedCounts
from zoo.smoke.served import Served
from zoo.smoke.settings import SmokeSettings
from zoo.workspace import find_zoo

BLOCK = 8
DRAFT = "/models/draft"
# As SGLang 0.5.14 gave it for the tiny pair on an H200 (all other keys left out).
INFO: dict[str, Any] = {
    "version": "0.5.14",
    "speculative_algorithm": "DFLASH",
    "speculative_draft_model_path": DRAFT,
    "speculative_num_draft_tokens": BLOCK,
    "internal_states": [
        {"memory_usage": {"weight": 0.27, "kvcache": 1.2, "token_capacity": 65536, "graph": 0.1}}
    ],
}
LOG = """\
[2026-11-30 10:00:00] server_args=ServerArgs(model_path='/models/target')
[2026-11-30 10:00:01] Setup Custom allreduce failed, falling back to standard implementation
[2026-11-30 10:00:01] Ignore import error when loading sglang.srt.models.mimo_v2_flash: No module named 'x'
[2026-11-30 10:00:05] Initialized DFLASH draft runner. attention_backend=triton, model=DFlashDraftModel, \
block_size=8, draft_window_size=None, compact_cache=False
[2026-11-30 10:00:05] DFLASH draft runner ready. mask_token=<|MASK|>, mask_token_id=4, \
mask_token_id_override=4
[2026-11-30 10:00:20] The server is fired up and ready to roll!
"""
# Verify steps that accepted 0, 1, ... tokens in one answer of about 96 tokens: an accept length of 5.
HEALTHY = (2, 1, 1, 2, 3, 2, 2, 5)
DEAD = (90, 4)


def counts(histogram: Sequence[int], proposals: int = BLOCK - 1) -> ServedCounts:
    steps = sum(histogram)
    correct = sum(accepted * number for accepted, number in enumerate(histogram))
    return ServedCounts(tuple(histogram), steps, correct, steps * proposals)


def answer(histogram: Sequence[int] | None = HEALTHY, *, seed: int = 0, tokens: int = 96) -> Answer:
    """An answer of ``tokens`` different tokens; ``histogram`` None: without speculation."""
    ids = tuple((seed * 7 + 31 * place) % 509 for place in range(tokens))
    return Answer((1, 2, 3 + seed), ids, "length", None if histogram is None else counts(histogram), 0, 0.5)


def answers(histogram: Sequence[int] | None = HEALTHY, number: int = 12) -> tuple[Answer, ...]:
    return tuple(answer(histogram, seed=seed) for seed in range(number))


@cache
def healthy() -> Served:
    """The tiny pair on SGLang 0.5.14, as far as every server is asked."""
    recipe = usable_recipe(find_zoo(REPOSITORY), "tiny-ft")
    return Served(
        recipe=recipe,
        profile=recipe.profiles[0],
        settings=SmokeSettings("1gpu"),
        engine="sglang",
        version=Version("0.5.14"),
        draft=DRAFT,
        info=INFO,
        log=LOG,
        prompts=((1, 2, 3),),
        greedy=answers(),
        sampled=answers((4, 3, 2, 3, 3, 2, 2, 3)),
    )


def having(**changed: Any) -> Served:
    """The healthy one with other fields. ``args`` join those of the profile, ``settings`` change some."""
    served = healthy()
    if "args" in changed:
        args = (*served.profile.args, *changed.pop("args"))
        changed["profile"] = replace(served.profile, args=args)
    if "settings" in changed:
        changed["settings"] = replace(served.settings, **changed["settings"])
    return replace(served, **changed)
