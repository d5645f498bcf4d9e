"""The held-out prompts of both domains, for ``zoo trace``: python examples/tiny/held_out.py > FILE.

The main domain is the one that tiny-ft was tuned for; the other is out of domain. With --input-ids they are
token ids, as in recipes/prompts/tiny-held-out.jsonl of ``zoo smoke``: no tokenizer stands between them and a
server.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from data import DOMAINS, Conversation, held_out_prompts

PROMPTS = 12
TARGET = Path(__file__).parent / "target"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=PROMPTS, help="of each domain")
    parser.add_argument("--input-ids", action="store_true", help="token ids, not messages")
    args = parser.parse_args()
    for domain in DOMAINS:
        prompts = held_out_prompts(domain, args.prompts)
        lines = map(as_ids, prompts) if args.input_ids else ({"messages": each} for each in prompts)
        for number, line in enumerate(lines):
            print(json.dumps({"name": f"{domain}-{number:02}", "domain": domain, **line}))


def as_ids(messages: Conversation) -> dict[str, Any]:
    from tokenizer import encode
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(TARGET)  # type: ignore[no-untyped-call]
    return {"input_ids": encode(tokenizer, messages, add_generation_prompt=True)}


if __name__ == "__main__":
    main()
