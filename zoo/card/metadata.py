"""The metadata of a card: what the Hub indexes, and what decides the commands that it prints beside the
card."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from zoo.printable import printable, visible
from zoo.recipe.model import UNKNOWN, Recipe

# Words that a YAML 1.1 reader (PyYAML, which huggingface_hub uses) takes for something else than text.
_NOT_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ./+-]*")


def metadata(recipe: Recipe) -> dict[str, Any]:
    """The metadata as plain data, without nulls: what is not known is left out, except for the licence, which
    the Hub has a word for."""
    engine = recipe.profiles[0].engine
    data: dict[str, Any] = {
        **_license(recipe),
        # Not transformers: with that, or with nothing beside a config.json, the Hub prints commands that
        # serve the draft on its own (vllm serve, --model-path), which cannot work. What reads a draft is the
        # engine. (How the Hub's buttons take this name was not tried live.) A pipeline_tag would bring those
        # commands back: there is none.
        "library_name": engine,
    }
    base = recipe.base
    if base is not None and base.repo != UNKNOWN and not base.repo.startswith("./"):
        data["base_model"] = [base.repo]
        # The Hub knows no relation "draft"; without one it guesses.
        data["base_model_relation"] = "finetune"
    tags = ["speculative-decoding", "draft-model", recipe.checkpoint.family]
    tags += [profile.engine for profile in recipe.profiles]
    tags += [recipe.target.name, *recipe.data.get("tags", ())]
    data["tags"] = list(dict.fromkeys(tags))
    return data


def problems(data: dict[str, Any]) -> list[str]:
    """What the Hub would refuse or misread, by ``zoo/schemas/card-metadata-1.json``."""
    from zoo.schemas import validator

    found = []
    for error in validator("card-metadata-1").iter_errors(data):
        place = error.json_path.removeprefix("$").removeprefix(".") or "metadata"
        found.append(f"{place}: {printable(error.message, keep='', limit=200)}")
    return sorted(found)


def front_matter(data: dict[str, Any]) -> str:
    """The metadata as the YAML block that a card begins with."""
    from ruamel.yaml import YAML
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    def text(value: Any) -> Any:
        if isinstance(value, list):
            return [text(item) for item in value]
        plain = _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT
        return value if plain else DoubleQuotedScalarString(value)

    yaml = YAML()
    yaml.width = 4096  # a value on one line, whatever its length: line-based readers of cards exist
    yaml.indent(sequence=4, offset=2)
    out = StringIO()
    yaml.dump({key: text(value) for key, value in data.items()}, out)
    return f"---\n{out.getvalue()}---\n"


def _license(recipe: Recipe) -> dict[str, str]:
    stated = recipe.data["license"]
    if stated == UNKNOWN:
        return {"license": UNKNOWN}
    names = {"id": "license", "name": "license_name", "link": "license_link"}
    return {names[key]: visible(value, keep="") for key, value in stated.items()}
