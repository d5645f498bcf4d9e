"""The tiny pair is real: it speculates, its output is the target's own, and its numbers are on record."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.torch
TINY = REPOSITORY / "examples" / "tiny"
RECORD = REPOSITORY / "release" / "tiny-ft" / "1.0.0" / "evidence" / "reference-held-out.json"


@pytest.fixture(scope="module")
def measure() -> Any:
    """``examples/tiny/measure.py``, whose siblings import each other by their plain names."""
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    # Matrices this small gain nothing from threads, and on a busy machine threads wait for each other.
    torch.set_num_threads(1)
    sys.path.insert(0, str(TINY))
    try:
        import measure as module
    finally:
        sys.path.remove(str(TINY))
    assert isinstance(module, ModuleType)
    return module.measure


def recorded(check: str) -> dict[str, Any]:
    results = json.loads(RECORD.read_text())["results"]
    measured: dict[str, Any] = next(each["measured"] for each in results if each["check"] == check)
    return measured


@pytest.mark.parametrize("domain", ["agent", "story"])
def test_accept_length_and_output_are_those_on_record(measure: Any, domain: str) -> None:
    found = measure(TINY / "tiny-ft", domain=domain)
    assert found["lossless"] == 12
    # Another CPU adds up in another order, and a near tie may then fall the other way.
    assert found["accept_length"] == pytest.approx(recorded(f"{domain}-t0")["accept_length"], rel=0.03)
    assert sum(found["histogram"]) == found["verify_steps"]
    assert sum(k * count for k, count in enumerate(found["histogram"])) == found["correct_drafts"]


def test_the_fine_tune_is_better_than_its_base_where_it_was_tuned(measure: Any) -> None:
    base, tuned = (measure(TINY / name) for name in ("base", "tiny-ft"))
    assert base["lossless"] == tuned["lossless"] == 12
    assert tuned["accept_length"] > base["accept_length"] + 0.5


def test_an_untrained_draft_is_as_lossless_and_accepts_nothing(measure: Any) -> None:
    found = measure(None, prompts=4)
    assert found["lossless"] == 4
    assert found["accept_length"] < 1.1


def test_a_dead_draft_is_seen_by_verify_before_anybody_measures(measure: Any, tmp_path: Path) -> None:
    """The promise in one test: foreign names load nothing, and only a check or the accept length tells."""
    import torch
    from safetensors.torch import load_file, save_file

    from zoo.verify import verify_source

    weights = load_file(TINY / "tiny-ft" / "model.safetensors")
    (tmp_path / "config.json").write_bytes((TINY / "tiny-ft" / "config.json").read_bytes())
    save_file({f"draft.{name}": tensor for name, tensor in weights.items()}, tmp_path / "model.safetensors")
    assert {finding.code for finding in verify_source(str(tmp_path)).report.findings} == {"I005"}
    # What such a file leaves an engine with: fc never loaded, here as zeros.
    weights["fc.weight"] = torch.zeros_like(weights["fc.weight"])
    save_file(weights, tmp_path / "model.safetensors")
    found = measure(tmp_path, prompts=4)
    assert found["lossless"] == 4
    assert found["accept_length"] - 1 < 0.5 * (recorded("agent-t0")["accept_length"] - 1)


def test_tokenizer_and_chat_template_load_with_transformers() -> None:
    transformers = pytest.importorskip("transformers", reason="needs the torch extra")
    tokenizer = transformers.AutoTokenizer.from_pretrained(TINY / "target")
    assert len(tokenizer) == 512
    ids = [tokenizer.convert_tokens_to_ids(token) for token in ("<|end|>", "<|user|>", "<|mask|>")]
    assert ids == [0, 1, 4]
    messages = [{"role": "user", "content": "Tell a story."}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text.startswith("<|user|>")
    assert text.endswith("<|assistant|>")
