"""One table of ratios: ``zoo verify --deep`` against what else computes a part of it, on the same file.

    python -m benchmarks.peers [--gigabytes 2] [--rounds 3] [--python INTERPRETER]

Peers that are not installed are named as such. INTERPRETER is one that has them (model-signing with
pyOpenSSL, modelaudit, torch); the default is the running one. The file is in the page cache; ``--cold`` drops
it from there before each run (Linux).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from zoo.checkpoint.writer import header_bytes
from zoo.drafts import TensorSpec

WEIGHTS = "model.safetensors"
CODE = {
    "hashlib.file_digest": """
import hashlib
with open(PATH, "rb") as file:
    hashlib.file_digest(file, "sha256").hexdigest()
""",
    "huggingface_hub's sha_fileobj": """
from huggingface_hub.utils.sha import sha_fileobj
with open(PATH, "rb") as file:
    sha_fileobj(file)
""",
    "model_signing's file hash": """
import pathlib
from model_signing import hashing
hashing.Config().hash(pathlib.Path(PATH).parent)
""",
    "file_digest, then safe_open and torch.isfinite": """
import hashlib
import torch
from safetensors import safe_open
with open(PATH, "rb") as file:
    hashlib.file_digest(file, "sha256").hexdigest()
with safe_open(PATH, "pt") as file:
    for name in file.keys():
        assert torch.isfinite(file.get_tensor(name)).all(), name
""",
}
COMPUTES = {
    "openssl dgst -sha256": "hash",
    "sha256sum": "hash",
    "hashlib.file_digest": "hash",
    "huggingface_hub's sha_fileobj": "hash",
    "model_signing's file hash": "hash",
    "file_digest, then safe_open and torch.isfinite": "hash, NaN and Inf",
    "modelaudit scan": "structure, known attacks",
}


def commands(path: Path, python: str) -> dict[str, list[str]]:
    found = {
        "openssl dgst -sha256": ["openssl", "dgst", "-sha256", str(path)],
        "sha256sum": ["sha256sum", str(path)],
        **{name: [python, "-c", code.replace("PATH", repr(str(path)))] for name, code in CODE.items()},
        "modelaudit scan": [str(Path(python).with_name("modelaudit")), "scan", str(path)],
    }
    return {name: command for name, command in found.items() if shutil.which(command[0])}


def wall(command: Sequence[str], path: Path, cold: bool) -> float | None:
    """Seconds of one run; None if the peer fails, which for an import means that it is not installed."""
    if cold:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    started = time.perf_counter()
    ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    # modelaudit exits 1 when it finds something to say.
    fine = ran.returncode == 0 or (ran.returncode == 1 and "modelaudit" in command[0])
    return time.perf_counter() - started if fine else None


def write(folder: Path, gigabytes: float) -> Path:
    """Matrices of normals in bf16, about 200 MB each."""
    count = max(1, round(gigabytes * 5))
    specs = {f"layers.{index}.weight": TensorSpec("BF16", (8192, 12288)) for index in range(count)}
    random = np.random.default_rng(0)
    block = (random.standard_normal(8192 * 1024, dtype=np.float32) * 0.02).view("<u4") >> 16
    path = folder / WEIGHTS
    with path.open("wb") as file:
        file.write(header_bytes(specs, {"format": "pt"}))
        for index in range(count * 12):
            file.write(np.roll(block, index).astype("<u2").tobytes())
    (folder / "config.json").write_text("{}")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--cold", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), given.gigabytes)
        deep = ["verify", folder, "--deep", "--no-cache"]
        code = (
            f"import zoo.cli; zoo.cli.run({deep!r})"  # exit 0, whatever it says of a draft without a config
        )
        ours = [sys.executable, "-c", code]
        print(f"{path.stat().st_size:,} bytes, {'cold' if given.cold else 'warm'} page cache\n")
        print("| peer | what it computes | its time / ours | its seconds | ours |")
        print("|---|---|---|---|---|")
        for name, command in commands(path, given.python).items():
            if wall(command, path, given.cold) is None:
                print(f"| {name} | {COMPUTES[name]} | not installed or not able to run | | |")
                continue
            pairs = [
                (wall(command, path, given.cold), wall(ours, path, given.cold)) for _ in range(given.rounds)
            ]
            theirs = [one for one, _ in pairs if one]
            mine = [other for _, other in pairs if other]
            if not theirs or not mine:
                print(f"| {name} | {COMPUTES[name]} | could not be compared | | |")
                continue
            ratio = statistics.median(one / other for one, other in zip(theirs, mine, strict=True))
            print(
                f"| {name} | {COMPUTES[name]} | {ratio:.2f} | {statistics.median(theirs):.2f} | "
                f"{statistics.median(mine):.2f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
