"""Measure a draft's accept length on held-out prompts: python examples/tiny/measure.py --draft DIR."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import transformers
from data import DOMAINS, HELD_OUT_SEED, Domain, held_out_prompts
from model import DFlashDraft
from reference import accept_length, generate, greedy, load_draft, load_target
from tokenizer import encode

HERE = Path(__file__).parent


def measure(
    draft_dir: Path | None,
    target_dir: Path = HERE / "target",
    domain: Domain = "agent",
    prompts: int = 12,
    max_new_tokens: int = 48,
    temperature: float = 0.0,
    seed: int = 0,
) -> dict[str, Any]:
    """Accept counts of the draft in `draft_dir` over held-out `prompts`, each ended by <|end|> or the limit.

    `histogram[k]` is the number of verify steps that accepted k draft tokens, `acceptance_by_position[k-1]`
    the share of steps that accepted at least k. `lossless` counts the prompts whose output equals the
    target's own greedy one, and is None when sampling, where equality is not expected. `seed` seeds the
    sampling. With `draft_dir` None, a draft with the base draft's config and random weights is measured.
    """
    target = load_target(target_dir)
    tokenizer = transformers.AutoTokenizer.from_pretrained(target_dir)
    draft = load_draft(draft_dir) if draft_dir else random_draft(seed)
    end, generator = tokenizer.eos_token_id, torch.Generator().manual_seed(seed)
    steps: list[int] = []
    equal = 0
    for messages in held_out_prompts(domain, prompts):
        ids = torch.tensor([encode(tokenizer, messages, add_generation_prompt=True)])
        tokens, accepted = generate(target, draft, ids, max_new_tokens, temperature, generator, end)
        steps += accepted
        equal += temperature == 0 and tokens == greedy(target, ids, max_new_tokens, end)
    histogram = [steps.count(k) for k in range(draft.block_size)]
    return {
        "domain": domain,
        "prompts": prompts,
        "max_new_tokens": max_new_tokens,
        "temperature": temperature,
        "verify_steps": len(steps),
        "correct_drafts": sum(steps),
        "histogram": histogram,
        "accept_length": accept_length(steps),
        "acceptance_by_position": [sum(histogram[k:]) / len(steps) for k in range(1, draft.block_size)],
        "lossless": equal if temperature == 0 else None,
    }


def random_draft(seed: int) -> DFlashDraft:
    """An untrained draft of the base draft's shape: the control, of accept length about 1."""
    torch.manual_seed(seed)
    return DFlashDraft(json.loads((HERE / "base" / "config.json").read_text())).eval()


def report(result: dict[str, Any]) -> str:
    """The result as lines of text."""
    sampled = result["lossless"] is None
    lossless = "not compared (sampled)" if sampled else f"{result['lossless']}/{result['prompts']}"
    return "\n".join((
        f"domain          {result['domain']}, {result['prompts']} held-out prompts (seed {HELD_OUT_SEED})",
        f"output          up to {result['max_new_tokens']} tokens at temperature {result['temperature']:g}",
        f"verify steps    {result['verify_steps']}",
        f"correct drafts  {result['correct_drafts']}",
        f"histogram       {' '.join(f'{k}:{n}' for k, n in enumerate(result['histogram']))}",
        f"accept length   {result['accept_length']:.3f}",
        f"P(accept >= k)  {' '.join(f'{p:.2f}' for p in result['acceptance_by_position'])}",
        f"lossless        {lossless}",
    ))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--draft", type=Path, metavar="DIR", help="folder of the draft")
    which.add_argument("--untrained", action="store_true", help="a draft with random weights, as a control")
    parser.add_argument("--target", type=Path, metavar="DIR", default=HERE / "target")
    parser.add_argument("--domain", choices=DOMAINS, default="agent")
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--max-new-tokens", type=int, default=48)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    args = parser.parse_args()
    torch.set_num_threads(2)
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    result = measure(
        args.draft, args.target, args.domain, args.prompts, args.max_new_tokens, args.temperature
    )
    print(json.dumps(result) if args.json else report(result))


if __name__ == "__main__":
    main()
