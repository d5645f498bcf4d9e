"""Recording the tiny target and replaying its draft, against the plain reference loop over as many prompts.

The loop asks the draft at the steps of one walk; a replay asks it at every anchor, for each neighbour of its
config and each negative control: 20 passes. Needs the extra ``replay``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ratios import compare

REPOSITORY = Path(__file__).parent.parent
TINY = REPOSITORY / "examples" / "tiny"
ZOO = [sys.executable, "-m", "zoo", "--zoo", str(REPOSITORY)]
# Each side takes seconds, most of them at work and not at the start.
ROUNDS = 3
# Both domains are traced; the loop runs one, with as many prompts.
LOOP = [
    sys.executable,
    str(TINY / "measure.py"),
    "--draft",
    str(TINY / "tiny-ft"),
    "--prompts",
    "24",
]


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="needs the extra replay")
    pytest.importorskip("transformers", reason="needs the extra replay")
    file = tmp_path_factory.mktemp("tiny") / "held-out.jsonl"
    made = subprocess.run([sys.executable, str(TINY / "held_out.py")], capture_output=True, check=True)
    file.write_bytes(made.stdout)
    return file


def _record(conversations: Path, out: Path) -> list[str]:
    limits = ["--max-new-tokens", "48", "--ignore-eos", "--neighbours", "--layers", "tiny-ft"]
    return [*ZOO, "trace", "tiny", "--conversations", str(conversations), "--out", str(out), *limits]


def test_a_trace_takes_no_longer_than_a_few_loops(benchmark: Any, conversations: Path) -> None:
    out = conversations.parent / "again"
    # A recording that is there already would only be checked.
    ours = ["sh", "-c", 'rm -rf "$1"; shift; exec "$@"', "sh", str(out), *_record(conversations, out)]
    ratio = benchmark.pedantic(compare, (ours, LOOP, ROUNDS), rounds=1, iterations=1)
    benchmark.extra_info["ratio"] = ratio.median
    print(f"\nzoo trace of the tiny pair: {ratio} of the reference loop")
    assert ratio.median <= 3


def test_a_replay_takes_no_longer_than_a_few_loops(benchmark: Any, conversations: Path) -> None:
    trace = conversations.parent / "tiny-held-out"
    subprocess.run(_record(conversations, trace), check=True, capture_output=True)
    ours = [*ZOO, "replay", "tiny-ft", "--trace", str(trace)]
    ratio = benchmark.pedantic(compare, (ours, LOOP, ROUNDS), rounds=1, iterations=1)
    benchmark.extra_info["ratio"] = ratio.median
    print(
        f"\nzoo replay of the tiny pair, 20 passes at every anchor: {ratio} of the reference loop's one walk"
    )
    assert ratio.median <= 6
