"""A plain small draft: an ordinary causal language model, used as it is (STANDALONE in SGLang, draft_model in
vLLM).

Its tensors are those of its architecture, of which there are hundreds, and the library that wrote it checks
them when it loads; they are not inventoried. What goes wrong with such a draft is not in the file: its
tokenizer or its vocabulary is not the target's (vllm-project/vllm#5203, #10913, ggml-org/llama.cpp#3812).

Sources: sglang 0.5.23, speculative/standalone_worker_v2.py; vllm 0.33.0, config/speculative.py.

Uncertain: a config that says so little is also that of a target, and of an EAGLE-1/2 draft as first
published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory
from zoo.drafts.parts import NotInventoriedError

_ORDINARY = re.compile(r"[A-Za-z0-9_]+ForCausalLM")
# A name with one of these in it is a draft of some kind that is not known here, and is not claimed.
_OTHER_DRAFT = re.compile(
    r"eagle|d-?flash|dspark|domino|medusa|hydra|xpress|mtp|nextn|draft|specul|assistant", re.IGNORECASE
)
# Keys of drafts, and of targets that bundle one.
_OTHER_KEY = re.compile(
    r"dflash_config|eagle_config|dspark_\w+|eagle_aux_\w+|aux_hidden_state_layer_ids|target_layer_ids"
    r"|target_hidden_size|draft_vocab_size|markov_rank|medusa_\w+|speculators_\w+|mtp_\w+"
    r"|num_nextn_predict_layers|projector_type"
)


def describes(config: Mapping[str, Any]) -> bool:
    """Whether the config names one ordinary causal language model and no key of a draft has a value."""
    stated = config.get("architectures")
    if not isinstance(stated, list) or len(stated) != 1 or not isinstance(stated[0], str):
        return False
    if not _ORDINARY.fullmatch(stated[0]) or _OTHER_DRAFT.search(stated[0]):
        return False
    return not any(config[key] is not None and _OTHER_KEY.fullmatch(str(key)) for key in config)


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """No inventory: an ordinary model has the tensors of its architecture.

    Raises:
        NotInventoriedError: always.
    """
    raise NotInventoriedError(
        "an ordinary language model is not inventoried: as a draft its tokenizer and vocabulary must be the "
        "target's; if this is an EAGLE-1/2 draft, name it so in architectures"
    )
