"""What versions of SGLang make of a launch command: algorithms, attention backends, kinds of flags.

Read in the published wheels 0.5.14 to 0.5.23 (0.5.14, 0.5.15, 0.5.15.post1, and every number after it).
"""

from __future__ import annotations

from collections.abc import Sequence

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from zoo.engines.flags import flag_value

READ = SpecifierSet(">=0.5.14,<=0.5.23")
# Families whose drafts run in the DFLASH worker or, DSpark's, in one that shares its restrictions
# (SpeculativeAlgorithm.is_dflash_family since 0.5.16).
BLOCK_FAMILIES = frozenset({"dflash", "dflash2", "domino", "dspark"})
BLOCK_ALGORITHMS = ("DFLASH", "DSPARK")
MLA_BACKENDS = ("trtllm_mla", "tokenspeed_mla", "cutedsl_mla")

# Names that --speculative-algorithm knows, with the first version that does (speculative/spec_info.py).
_ALGORITHMS = {
    "DFLASH": "0.5.14",
    "EAGLE": "0.5.14",
    "EAGLE3": "0.5.14",
    "NEXTN": "0.5.14",
    "FROZEN_KV_MTP": "0.5.14",
    "STANDALONE": "0.5.14",
    "NGRAM": "0.5.14",
    "DSPARK": "0.5.16",
    "UNO": "0.5.20",
}
# The same for the backends of a DFLASH draft (dflash_worker_v2.py, later arg_groups/choices.py).
_DRAFT_BACKENDS = {
    "flashinfer": "0.5.14",
    "fa3": "0.5.14",
    "fa4": "0.5.14",
    "triton": "0.5.14",
    "ascend": "0.5.14",
    "trtllm_mha": "0.5.17",
    "intel_xpu": "0.5.20",
}


def algorithms(version: Version) -> tuple[str, ...]:
    """The algorithms that ``version`` knows. A plugin may register others."""
    return _since(_ALGORITHMS, version)


def draft_backends(version: Version) -> tuple[str, ...]:
    """The attention backends that a DFLASH draft may have; for any other SGLang takes its own choice."""
    return _since(_DRAFT_BACKENDS, version)


def algorithm(argv: Sequence[str]) -> str:
    """--speculative-algorithm as SGLang takes it, in upper case; "" where there is none."""
    return (flag_value(argv, "--speculative-algorithm", "--speculative-algo") or "").upper()


def attention_backends(argv: Sequence[str]) -> tuple[str, ...]:
    """The attention backends that the command names for the target."""
    flags = ("--attention-backend", "--prefill-attention-backend", "--decode-attention-backend")
    return tuple(value for flag in flags if (value := flag_value(argv, flag)))


def draft_attention_backend(argv: Sequence[str]) -> str | None:
    """What the draft worker runs attention with; unset, it inherits the target's (0.5.14,
    dflash_worker_v2.py)."""
    own = flag_value(argv, "--speculative-draft-attention-backend")
    return own or flag_value(argv, "--prefill-attention-backend") or flag_value(argv, "--attention-backend")


def _since(first: dict[str, str], version: Version) -> tuple[str, ...]:
    return tuple(name for name, known in first.items() if version >= Version(known))
