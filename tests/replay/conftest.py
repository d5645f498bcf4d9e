"""The trace of the tiny pair that several tests replay against, recorded once per run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.replay.reference_kit import TINY, one_thread, tiny


@pytest.fixture(scope="session")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 held-out prompts of each domain, 48 tokens each, float32: what examples/tiny/README.md records."""
    pytest.importorskip("torch", reason="needs the torch extra")
    import zoo.cli

    one_thread()
    (data,) = tiny("data")
    lines = [
        json.dumps({"name": f"{domain}-{number:02}", "domain": domain, "messages": messages})
        for domain in data.DOMAINS
        for number, messages in enumerate(data.held_out_prompts(domain, 12))
    ]
    folder = tmp_path_factory.mktemp("held-out")
    (folder / "conversations.jsonl").write_text("\n".join(lines))
    out = folder / "tiny-held-out"
    words = f"--zoo {REPOSITORY} trace tiny --conversations {folder / 'conversations.jsonl'} --out {out}"
    more = "--layers tiny-ft --neighbours --max-new-tokens 48 --dtype float32"
    assert zoo.cli.run([*words.split(), *more.split()]) == 0
    assert TINY.is_dir()
    return out
