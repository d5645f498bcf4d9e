"""All families of drafts, and which one a config or a list of tensor names speaks of.

Config and names are asked separately, because they can contradict each other, and a contradiction is the
finding: a DSpark draft whose config still says DFlash boots on SGLang, which drops the heads without a word.
Neither answer is a proof. What is uncertain about each family stands in its ``uncertain``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from zoo.drafts import (
    Inventory,
    dflash,
    dflash2,
    domino,
    dspark,
    eagle,
    eagle3,
    medusa,
    mtp,
    peagle,
    plain,
    speculators,
)
from zoo.drafts.layouts import KIND, native
from zoo.drafts.parts import NotInventoriedError, head_keys, names_one_of

__all__ = ["FAMILIES", "Family", "NotInventoriedError", "family_of", "family_of_names"]


Tensors = Callable[[Mapping[str, Any], str], Inventory]


def nothing(config: Mapping[str, Any], dtype: str) -> Inventory:
    """No optional tensors: a file of the family has exactly its inventory."""
    return {}


class Family(NamedTuple):
    """A kind of draft.

    ``describes`` says whether a config speaks of it, given that no family before it in FAMILIES claims it.
    ``flat`` gives the tensors that a file must have whose config is in the flat layout, ``flat_optional``
    those that it may have besides. ``own`` are regular expressions, searched in a tensor name: a match says
    this family, again unless one before it matches; a family without any cannot be told from its names.
    ``architectures`` are the names known from config.json.
    """

    name: str
    title: str
    architectures: tuple[str, ...]
    describes: Callable[[Mapping[str, Any]], bool]
    flat: Tensors
    own: tuple[str, ...]
    source: str
    uncertain: str
    flat_optional: Tensors = nothing

    @property
    def draft(self) -> str:
        """What a draft of it is called in a sentence: "an EAGLE3 draft"."""
        article = "an" if self.title.startswith(("E", "MTP")) else "a"
        return f"{article} {self.title} draft"

    def inventory(self, config: Mapping[str, Any], dtype: str) -> Inventory:
        """The tensors that a file of ``config`` must have, in whichever layout it is.

        Raises:
            KeyError, TypeError, NotInventoriedError: as the family's own function says.
        """
        config = native(config).config
        if config.get(KIND) is not None:
            return speculators.tensors(self.name, config, dtype)[0]
        return self.flat(config, dtype)

    def optional(self, config: Mapping[str, Any], dtype: str) -> Inventory:
        """The tensors that such a file may have besides; none of them is in :meth:`inventory`.

        Raises:
            KeyError, TypeError, NotInventoriedError: as :meth:`inventory`.
        """
        config = native(config).config
        if config.get(KIND) is not None:
            return speculators.tensors(self.name, config, dtype)[1]
        return self.flat_optional(config, dtype)


def family_of(config: Mapping[str, Any]) -> Family | None:
    """The family that ``config`` describes, or None. Never raises, whatever the values are.

    A config of speculators names its kind. Else the most specific family is asked first. A stated
    ``projector_type`` decides, as it does in SpecForge and SGLang; then an architecture or the keys of a head
    are enough. So a config with the keys of a head is that family even where ``architectures`` still says
    DFlashDraftModel, and a config that names a head but states none of its keys is, too.

    Uncertain: keys of two heads without a ``projector_type`` give the first in the order of FAMILIES. A
    target with a bundled draft (``dspark_*`` keys) is no draft. An unknown architecture is never guessed to
    be a known family: Laguna, for one, has the keys of DFlash and other tensors.
    """
    if config.get(KIND) is not None:
        return next((family for family in FAMILIES if family.name == config[KIND]), None)
    return next((family for family in FAMILIES if family.describes(config)), None)


def family_of_names(names: Iterable[str]) -> Family | None:
    """The family whose tensors these names are, under any prefix and also in foreign spellings, or None.

    Names, not their number: DSpark and Domino have equally many tensors.

    Uncertain: a head that is not in the file leaves no name, so a DSpark or Domino draft that lost its head
    looks like DFlash, and a config without one pair of keys of DFlash2 like the other pair. A file with two
    heads gets the first in the order of FAMILIES; the inventory then reports the other as unexpected.
    """
    found = set[str]()
    for name in names:
        found |= {family.name for family in FAMILIES if any(re.search(own, name) for own in family.own)}
    return next((family for family in FAMILIES if family.name in found), None)


def _is_dspark(config: Mapping[str, Any]) -> bool:
    keys = head_keys(config, "dspark_config")
    if "projector_type" in keys:
        return bool(keys["projector_type"] == "dspark")
    named = names_one_of(config, dspark.ARCHITECTURES)
    return named or config.get("model_type") in ("qwen3_dspark", "k3_dspark") or bool(keys.get("markov_rank"))


def _is_domino(config: Mapping[str, Any]) -> bool:
    keys = head_keys(config)
    if "projector_type" in keys:
        return bool(keys["projector_type"] == "domino")
    return names_one_of(config, domino.ARCHITECTURES) or bool(keys.get("gru_hidden_dim"))


def _is_dflash2(config: Mapping[str, Any]) -> bool:
    keys = head_keys(config)
    named = names_one_of(config, dflash2.ARCHITECTURES) or config.get("model_type") == "qwen3_dflash2"
    pairs = ("conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k")
    return named or any(bool(keys.get(key)) for key in pairs)


def _is_peagle(config: Mapping[str, Any]) -> bool:
    return names_one_of(config, peagle.ARCHITECTURES)


def _is_eagle3(config: Mapping[str, Any]) -> bool:
    if names_one_of(config, eagle3.ARCHITECTURES):
        return True
    return isinstance(config.get("eagle_config"), Mapping) and "dflash_config" not in config


def _is_dflash(config: Mapping[str, Any]) -> bool:
    if config.get("architectures"):
        return names_one_of(config, dflash.ARCHITECTURES)
    return config.get("model_type") == "dflash" or isinstance(config.get("dflash_config"), Mapping)


def _is_eagle(config: Mapping[str, Any]) -> bool:
    return names_one_of(config, eagle.ARCHITECTURES)


# The most specific first: DSpark, Domino and DFlash2 are DFlash with something added, P-EAGLE is EAGLE3.
FAMILIES: tuple[Family, ...] = (
    Family(
        name="dspark",
        title="DSpark",
        architectures=dspark.ARCHITECTURES,
        describes=_is_dspark,
        flat=dspark.inventory,
        own=(r"(?:^|\.)(?:markov_head|confidence_head|confidence_proj|markov_w[12])\.",),
        source="specforge 0.2.0 and sglang 0.5.23, from code",
        uncertain="defaults of absent switches differ; ModelOpt names the heads otherwise; of the draft of "
        "Kimi K3 only a reader was found",
    ),
    Family(
        name="domino",
        title="Domino",
        architectures=domino.ARCHITECTURES,
        describes=_is_domino,
        flat=domino.inventory,
        own=(r"(?:^|\.)prefix_gru\.", r"(?:^|\.)embed_proj\.[02]\."),
        source="specforge 0.2.0 and sglang 0.5.23, from code",
        uncertain="no published header was read",
    ),
    Family(
        name="dflash2",
        title="DFlash2",
        architectures=dflash2.ARCHITECTURES,
        describes=_is_dflash2,
        flat=dflash2.inventory,
        own=(r"(?:^|\.)candidate_selector\.", r"\.(?:attention|mlp)_conv\."),
        source="a published safetensors header, to the byte; sglang 0.5.23 and dflash 0.1.0, from code",
        uncertain="drafts with latent attention are not inventoried",
    ),
    Family(
        name="peagle",
        title="P-EAGLE",
        architectures=peagle.ARCHITECTURES,
        describes=_is_peagle,
        flat=peagle.inventory,
        own=(r"(?:^|\.)mask_hidden$",),
        source="specforge 0.2.0 and vllm 0.33.0, from code",
        uncertain="SGLang 0.5.23 does not serve it, and no published header was read",
    ),
    Family(
        name="eagle3",
        title="EAGLE3",
        architectures=eagle3.ARCHITECTURES,
        describes=_is_eagle3,
        flat=eagle3.inventory,
        own=(r"(?:^|\.)midlayer\.", r"(?:^|\.)layers\.0\.hidden_norm\.weight$"),
        source="specforge 0.2.0, sglang 0.5.14 and 0.5.23, vllm 0.33.0, from code",
        uncertain="others write layers.0. for midlayer. or no t2d; of latent attention and of more than one "
        "layer only readers were found",
        flat_optional=eagle3.optional,
    ),
    Family(
        name="dflash",
        title="DFlash",
        architectures=dflash.ARCHITECTURES,
        describes=_is_dflash,
        flat=dflash.inventory,
        own=(r"(?:^|\.)(?:hidden_norm|context_proj|context_norm|output_norm_enc)\.weight$",),
        source="a published safetensors header, to the byte; sglang 0.5.14, run",
        uncertain="whatever has no head of its own looks like DFlash; of Laguna only the count was compared",
    ),
    Family(
        name="mtp",
        title="MTP/NextN",
        architectures=mtp.ARCHITECTURES,
        describes=mtp.describes,
        flat=mtp.inventory,
        own=(r"(?:^|\.)mtp(?:_layers)?\.", r"\.(?:eh_proj|enorm|hnorm|shared_head)\."),
        source="sglang 0.5.23, vllm 0.33.0 and speculators 0.9.0, from code",
        uncertain="only the export of speculators is inventoried; else the layer is in its target's files",
    ),
    Family(
        name="eagle",
        title="EAGLE-1/2",
        architectures=eagle.ARCHITECTURES,
        describes=_is_eagle,
        flat=eagle.inventory,
        own=(),
        source="sglang 0.5.14 and 0.5.23, vllm 0.33.0, from code",
        uncertain="the first published drafts have the config of an ordinary model; no header was read",
        flat_optional=eagle.optional,
    ),
    Family(
        name="medusa",
        title="Medusa",
        architectures=medusa.ARCHITECTURES,
        describes=medusa.describes,
        flat=medusa.inventory,
        own=(r"^\d+\.\d+\.linear\.(?:weight|bias)$",),
        source="reports about published files; no code was read",
        uncertain="everything; published configs leave the dimensions to the target",
    ),
    Family(
        name="plain",
        title="small model",
        architectures=(),
        describes=plain.describes,
        flat=plain.inventory,
        own=(),
        source="sglang 0.5.23 and vllm 0.33.0, from code",
        uncertain="the config of a target, or of an EAGLE-1/2 draft as first published, says no more",
    ),
)
