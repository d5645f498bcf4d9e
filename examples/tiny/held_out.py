"""The held-out prompts of both domains, for ``zoo trace``: python examples/tiny/held_out.py > FILE.

The main domain is the one that tiny-ft was tuned for; the other is out of domain.
"""

from __future__ import annotations

import json

from data import DOMAINS, held_out_prompts

PROMPTS = 12


def main() -> None:
    for domain in DOMAINS:
        for number, messages in enumerate(held_out_prompts(domain, PROMPTS)):
            print(json.dumps({"name": f"{domain}-{number:02}", "domain": domain, "messages": messages}))


if __name__ == "__main__":
    main()
