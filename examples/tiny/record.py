"""Record the reference loop's accept lengths of tiny-ft as evidence: python examples/tiny/record.py.

The record is bound to the bytes of the draft and to the recipe, so that a later change of either makes it
stale. The claims of the recipe name it. Takes about a minute on two CPU cores.
"""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from pathlib import Path

import torch
import transformers
from data import DOMAINS, held_out_prompts
from measure import measure

from zoo import __version__
from zoo.digests import FileDigest, basis_digest, canonical_json, engine_digest, sha256_file
from zoo.evidence import Engine, Evidence, Result, evidence_folder, write_evidence
from zoo.recipe.load import usable_recipe
from zoo.results import Outcome
from zoo.workspace import find_zoo

HERE = Path(__file__).parent
PROMPTS, NEW_TOKENS = 12, 48
# An untrained draft has 1.0; half of the gain of the trained one is a floor that only a broken draft misses.
FLOOR = 3.0


def main() -> None:
    torch.set_num_threads(2)
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    zoo = find_zoo(HERE)
    recipe = usable_recipe(zoo, "tiny-ft")
    folder = zoo.root / recipe.checkpoint.source
    files = [
        FileDigest(name, (folder / name).stat().st_size, sha256_file(folder / name))
        for name in recipe.checkpoint.files
    ]
    prompts = {domain: list(held_out_prompts(domain, PROMPTS)) for domain in DOMAINS}
    inputs = {
        "sha256": hashlib.sha256(canonical_json(prompts)).hexdigest(),
        "about": "held-out prompts of examples/tiny/data.py",
        "count": PROMPTS * len(DOMAINS),
    }
    settings = {"max_new_tokens": NEW_TOKENS, "dtype": "float32", "floor": FLOOR}
    digest = engine_digest(recipe, files)
    started = now()
    results = [run(folder, domain, temperature) for domain in DOMAINS for temperature in (0, 1)]
    record = Evidence(
        kind="reference",
        subject="held-out",
        checkpoint_digest=digest,
        basis_digest=basis_digest(recipe, inputs, digest, settings),
        target={"repo": recipe.target.repo.path, "revision": "this repository"},
        inputs=inputs,
        settings=settings,
        engine=Engine("reference", torch.__version__, ("python", "examples/tiny/record.py")),
        host={"gpus": [], "cpu": platform.machine()},
        tool=f"draft-zoo {__version__}",
        started=started,
        ended=now(),
        results=tuple(results),
    )
    path = evidence_folder(zoo, recipe) / f"{record.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_evidence(path, record)
    print(f"wrote {zoo.shown(path)}")


def run(folder: Path, domain: str, temperature: int) -> Result:
    """Measure one domain at one temperature. At temperature 0 the output must equal the target's own."""
    found = measure(
        folder, domain=domain, prompts=PROMPTS, max_new_tokens=NEW_TOKENS, temperature=temperature
    )
    measured = {
        "domain": domain,
        "temperature": temperature,
        "prompts": PROMPTS,
        "accept_histogram": found["histogram"],
        "verify_steps": found["verify_steps"],
        "correct_drafts": found["correct_drafts"],
        "accept_length": round(found["accept_length"], 4),
    }
    if temperature == 0:
        measured["lossless"] = found["lossless"]
    lossless = temperature != 0 or found["lossless"] == PROMPTS
    alive = found["accept_length"] >= FLOOR
    reason = (
        "" if lossless and alive else "the output is not the target's" if not lossless else "below the floor"
    )
    return Result(f"{domain}-t{temperature}", Outcome.FAILED if reason else Outcome.PASSED, reason, measured)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    main()
