"""The prompts of a smoke test, ``gates.smoke.prompts`` of a recipe: a JSONL file below recipes/.

    {"name": "agent-00", "domain": "agent", "input_ids": [1, 350, 225]}
    {"text": "Once upon a time"}

Text and messages need the target's tokenizer; ``input_ids`` need nothing, and no tokenizer changes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.digests import sha256_file
from zoo.errors import UnreadableError, UsageError
from zoo.recipe.model import Recipe
from zoo.replay.conversations import Limits, Tokenizer, read_conversations
from zoo.smoke.settings import SmokeSettings
from zoo.workspace import Zoo

# Every served token becomes a part of the record.
_MOST_TOKENS = 50_000


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    domain: str
    input_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts in the order of the file, and the sha256 of the file."""

    prompts: tuple[Prompt, ...]
    sha256: str
    file: str

    def inputs(self) -> dict[str, Any]:
        """As the inputs of a record."""
        return {"sha256": self.sha256, "about": f"prompts {self.file}", "count": len(self.prompts)}


def read_prompts(zoo: Zoo, recipe: Recipe, settings: SmokeSettings, tokenizer: Path | None) -> Prompts:
    """The prompts of the recipe. ``tokenizer``: the target's folder, where it is here.

    Raises:
        UsageError: the recipe names none, or a line is not a prompt.
        UnreadableError: the file is not there.
    """
    if not settings.prompts:
        raise UsageError(
            f"{recipe.file} names no prompts to serve",
            hint="write gates: {smoke: {prompts: prompts/FILE.jsonl}}, a file below recipes/ with lines like "
            '{"input_ids": [1, 2, 3]} or {"text": "..."}',
        )
    path = zoo.recipes / settings.prompts
    if not path.resolve().is_relative_to(zoo.root.resolve()):
        raise UnreadableError(f"{zoo.shown(path)} leads out of the zoo", hint="put the file itself there")
    target = recipe.target
    limits = Limits(target.vocab_size, target.max_position_embeddings, settings.max_new_tokens)
    asked, _ = read_conversations(path, limits, Tokenizer(tokenizer))
    if len(asked) * settings.max_new_tokens > _MOST_TOKENS:
        raise UsageError(
            f"{zoo.shown(path)}: {len(asked)} answers of {settings.max_new_tokens} tokens are more than "
            f"{_MOST_TOKENS:,} tokens",
            hint="fewer prompts, or fewer max_new_tokens: a smoke test is no benchmark",
        )
    prompts = tuple(Prompt(each.name, each.domain, each.prompt) for each in asked)
    return Prompts(prompts, sha256_file(path), settings.prompts)
