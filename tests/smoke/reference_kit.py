"""Running the reference engine in tests: a real process on a free port, and a plain client of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.replay.reference_kit import TINY, tiny
from tests.smoke.forked import Forker

TARGET = TINY / "target"
NEW_TOKENS = 48
Weights = dict[str, Any]


@dataclass(frozen=True)
class Engine:
    """A running reference engine. ``process``: None if it was forked, and ends with the process of it."""

    url: str
    log_file: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def get(self, path: str) -> tuple[int, Any]:
        return self._answer(urllib.request.Request(self.url + path))

    def post(self, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        raw, kind = json.dumps(body).encode(), {"Content-Type": "application/json"}
        return self._answer(urllib.request.Request(self.url + path, raw, kind))

    def generate(self, input_ids: list[int], **settings: Any) -> dict[str, Any]:
        """An answer of /generate; greedy and of 48 tokens unless ``settings`` say otherwise."""
        sampling = {"temperature": 0, "max_new_tokens": NEW_TOKENS, **settings}
        status, answer = self.post("/generate", {"input_ids": input_ids, "sampling_params": sampling})
        assert status == 200, answer
        return dict(answer)

    def stream(self, input_ids: list[int], **settings: Any) -> Iterator[dict[str, Any]]:
        """The chunks of a streamed answer, after which the stream must say that it is done."""
        body = {"input_ids": input_ids, "sampling_params": settings, "stream": True}
        request = urllib.request.Request(self.url + "/generate", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            events = (line.decode()[len("data: ") :].strip() for line in answer if line.strip())
            for event in events:
                if event == "[DONE]":
                    return
                yield json.loads(event)
        raise AssertionError("the stream broke off")

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    @staticmethod
    def _answer(request: urllib.request.Request) -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, raw = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, raw = error.code, error.read()
        text = raw.decode()
        return status, json.loads(text) if text.startswith("{") else text


@contextmanager
def reference_engine(
    log_file: Path, draft: Path | None, *flags: str, target: Path = TARGET
) -> Iterator[Engine]:
    """A running engine; without ``draft`` it serves the target alone."""
    process = start(log_file, draft, *flags, target=target)
    try:
        yield Engine(_ready(log_file, process.poll), log_file, process)
    finally:
        process.kill()
        process.wait()


def start(
    log_file: Path, draft: Path | None, *flags: str, target: Path = TARGET, port: int = 0
) -> subprocess.Popen[bytes]:
    """The process, which may not be ready yet."""
    command = [
        sys.executable,
        "-m",
        "zoo.smoke.reference",
        *_arguments(draft, *flags, target=target, port=port),
    ]
    with log_file.open("wb") as log:
        return subprocess.Popen(command, stderr=log, env=os.environ | {"OMP_NUM_THREADS": "1"})


def forked_engine(forker: Forker, log_file: Path, draft: Path | None, *flags: str) -> Engine:
    """A running engine of ``forker``."""
    log_file.touch()
    pid = forker.start(log_file, _arguments(draft, *flags))

    def ended() -> int | None:
        # A process that has ended is a zombie until its parent ends, too.
        return 1 if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z" else None

    return Engine(_ready(log_file, ended), log_file)


def _arguments(draft: Path | None, *flags: str, target: Path = TARGET, port: int = 0) -> list[str]:
    arguments = ["--model-path", str(target), "--port", str(port)]
    if draft is not None:
        arguments += ["--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", str(draft)]
    return [*arguments, *flags]


def _ready(log_file: Path, ended: Callable[[], int | None]) -> str:
    """Its address, once its log says that it is ready."""
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        found = re.search(r"ready on (http://\S+)", log_file.read_text())
        if found:
            return found[1]
        assert ended() is None, f"the engine ended:\n{log_file.read_text()}"
        time.sleep(0.05)
    raise AssertionError(f"the engine is not ready:\n{log_file.read_text()}")


def broken_copy(folder: Path, change: Callable[[Weights], Weights], draft: Path = TINY / "tiny-ft") -> Path:
    """A copy of a draft in ``folder`` with other tensors."""
    from safetensors.torch import load_file, save_file

    folder.mkdir()
    (folder / "config.json").write_bytes((draft / "config.json").read_bytes())
    changed = {
        name: each.contiguous() for name, each in change(load_file(draft / "model.safetensors")).items()
    }
    save_file(changed, folder / "model.safetensors")
    return folder


def zeroed_fc(weights: Weights) -> Weights:
    return weights | {"fc.weight": weights["fc.weight"] * 0}


def random_weights(weights: Weights) -> Weights:
    """The same shapes, never trained."""
    import torch

    made = torch.Generator().manual_seed(7)
    return {
        name: (1 if each.dim() == 1 else 0) + 0.05 * torch.randn(each.shape, generator=made)
        for name, each in weights.items()
    }


@cache
def prompts(count: int = 12, domain: str = "agent") -> list[list[int]]:
    """The token ids of held-out prompts of the tiny pair."""
    import transformers

    data, tokenizer = tiny("data", "tokenizer")
    loaded = transformers.AutoTokenizer.from_pretrained(TARGET)
    return [
        tokenizer.encode(loaded, messages, add_generation_prompt=True)
        for messages in data.held_out_prompts(domain, count)
    ]
