"""Validated recipe data into the frozen values of ``zoo.recipe.model``. No checks here: the schema has
made them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from zoo.recipe.model import (
    UNKNOWN,
    Base,
    Caveat,
    CheckpointSpec,
    Claim,
    Draft,
    ModelRef,
    Profile,
    Recipe,
    Target,
    Training,
    Waiver,
)
from zoo.recipe.validate import Marks

_COMMIT = re.compile(r"[0-9a-f]{40}")


def target(data: Mapping[str, Any], marks: Marks, file: str) -> Target:
    served = data.get("served_as", data)
    tokenizer = data.get("tokenizer", {})
    return Target(
        name=data["name"],
        file=file,
        repo=_ref(data),
        served=_ref(served),
        quantization=served.get("quantization", ""),
        layers=data["layers"],
        hidden_size=data["hidden_size"],
        vocab_size=data["vocab_size"],
        max_position_embeddings=data.get("max_position_embeddings"),
        special_ids=tokenizer.get("special_ids", {}),
        data=data,
        marks=marks,
    )


def profile(data: Mapping[str, Any], marks: Marks, file: str) -> Profile:
    engine, _, version = data["engine"].partition("==")
    return Profile(
        name=data["name"],
        file=file,
        engine=engine,
        version=Version(version),
        gpu=data["hardware"]["gpu"],
        gpus=data["hardware"]["count"],
        command=data["command"],
        args=tuple(data["args"]),
        environment=data.get("environment", {}),
        image=data.get("image", ""),
        data=data,
        marks=marks,
    )


def recipe(
    data: Mapping[str, Any], marks: Marks, file: str, target: Target, profiles: tuple[Profile, ...]
) -> Recipe:
    return Recipe(
        name=data["name"],
        file=file,
        version=data["version"],
        repo=data["repo"],
        title=data["title"],
        target=target,
        profiles=profiles,
        checkpoint=_checkpoint(data["checkpoint"]),
        draft=_draft(data["draft"]),
        training=Training(
            run=data["training"]["run"],
            checkpoint=data["training"]["export_of"]["checkpoint"],
            step=data["training"]["export_of"]["step"],
            manifest=data["training"]["manifest"],
            data=data["training"].get("data", {}),
        ),
        base=_base(data["base"]) if "base" in data else None,
        gates=data.get("gates", {}),
        claims=tuple(_claim(claim) for claim in data.get("claims", ())),
        caveats=tuple(_caveat(caveat) for caveat in data.get("caveats", ())),
        waivers=tuple(
            Waiver(waiver["code"], waiver["reason"], date.fromisoformat(waiver["until"]))
            for waiver in data.get("waivers", ())
        ),
        data=data,
        marks=marks,
    )


def _ref(data: Mapping[str, Any]) -> ModelRef:
    """A revision pins only when it is a whole commit id: tags and branches of a hub can move."""
    revision = data["revision"]
    return ModelRef(data["repo"], revision if _COMMIT.fullmatch(revision) else None)


def _checkpoint(data: Mapping[str, Any]) -> CheckpointSpec:
    files = {name: kind if isinstance(kind, dict) else {"kind": kind} for name, kind in data["files"].items()}
    return CheckpointSpec(
        source=data["source"],
        family=data["family"],
        tensors=data["tensors"],
        optional=tuple(data.get("optional", ())),
        dtype=data["dtype"],
        files={name: entry["kind"] for name, entry in files.items()},
        about={name: entry["about"] for name, entry in files.items() if "about" in entry},
    )


def _draft(data: Mapping[str, Any]) -> Draft:
    rope = dict(data["rope"])
    return Draft(
        layers=data["layers"],
        block_size=data.get("block_size"),
        aux_ids=() if data["aux_layers"]["ids"] == UNKNOWN else tuple(data["aux_layers"]["ids"]),
        aux_convention=data["aux_layers"]["convention"],
        mask_token_id=data.get("mask_token", {}).get("id"),
        mask_token=data.get("mask_token", {}).get("text"),
        amplitude_as_trained=rope.pop("amplitude_as_trained", None),
        rope=rope,
        borrows=data["borrows"],
        assumed=tuple(data.get("assumed", ())),
        assumed_from=data.get("assumed_from", ""),
        config=data["config"],
    )


def _base(data: Mapping[str, Any]) -> Base:
    return Base(
        repo=data["repo"],
        revision=data.get("revision", UNKNOWN),
        config=data.get("config", UNKNOWN),
        inventory=data.get("inventory", UNKNOWN),
        unchanged_tensors=tuple(data.get("unchanged_tensors", ())),
    )


def _claim(data: Mapping[str, Any]) -> Claim:
    value = data["value"]
    return Claim(
        metric=data["metric"],
        value=(value[0], value[1]) if isinstance(value, list) else value,
        at=data.get("at", {}),
        against=data.get("against", ""),
        text=data.get("text", ""),
        source=data["source"],
        evidence=data.get("evidence", ""),
    )


def _caveat(data: Any) -> Caveat:
    if isinstance(data, str):
        return Caveat(data, "", "", SpecifierSet())
    engine, _, versions = data.get("applies_to", "").partition(" ")
    return Caveat("", data["text"], engine, SpecifierSet(versions))
