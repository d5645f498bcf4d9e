"""MTP and NextN: the layer of a target that predicts the token after the next, cut out as a draft of its own.

Such a layer lives in its target's files: ``model.layers.{N}`` with N the number of layers of the target
(DeepSeek, GLM: enorm, hnorm, eh_proj, shared_head, one decoder layer), or ``mtp.`` (Qwen: fc, norm,
pre_fc_norm_hidden, pre_fc_norm_embedding, layers.0). Engines take it from there and rewrite the architecture
to a name with NextN or MTP in it, which stands in no published config. What a layer holds is what a layer of
its target holds, experts and all, so no key of a draft decides it: that is not inventoried.

One export is its own file and its config decides it: speculators, ``mtp_layers.0``
(``zoo.drafts.speculators``).

Sources: sglang 0.5.23, configs/model_config.py (the rewriting), models/deepseek_nextn.py, qwen3_5_mtp.py;
vllm 0.33.0, models/deepseek_mtp.py, qwen3_next_mtp.py and registry.py; speculators 0.9.0, models/mtp.

Uncertain: everything but the export of speculators. The main risk is known: quantizers and savers that drop
the layer, which serves at an accept length of 1 (vllm-project/speculators, sgl-project/sglang#35797).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory
from zoo.drafts.parts import NotInventoriedError

ARCHITECTURES = ("MTPDraftModel", "MTPSpeculator")
# What SGLang and vLLM rewrite the architecture of a target to.
_REWRITTEN = re.compile(r"(NextN|MTP|MTPModel)\Z")


def describes(config: Mapping[str, Any]) -> bool:
    """Whether an architecture is that of an MTP layer. A target that has such a layer is no draft."""
    stated = config.get("architectures")
    if not isinstance(stated, list):
        return False
    names = [name for name in stated if isinstance(name, str)]
    return any(name in ARCHITECTURES or _REWRITTEN.search(name) for name in names)


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """No inventory: no key of the config decides what the layer holds.

    Raises:
        NotInventoriedError: always.
    """
    raise NotInventoriedError(
        "an MTP layer is not inventoried: it has the tensors of its target's layer, under mtp. or "
        "model.layers.N., and engines read it from the target's files; compare it with those"
    )
