"""Release the stand-in of a real draft (6.96 GB) to a hub of one's own, and measure it: memory, and who
hashes and reads how much. By hand, not in the suite: it needs 14 GB of disk and some minutes.

``python -m tests.reliability.big FOLDER``; what it prints is in page.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.hub.server import HubProcess
from zoo.hub.users import open_users

REPOSITORY = Path(__file__).parents[2]
NAME, OWNER = "kimi-ft-v3", "mredmond"
REASON = "a stand-in, to measure a release"


def release(argv: list[str]) -> int:
    """``zoo ARGV`` in this process; at its end the last line of stderr is a JSON object: bytes hashed by
    module, bytes read by the process, and its peak memory in MB."""
    hashed: Counter[str] = Counter()
    real = hashlib.sha256

    class Counting:
        def __init__(self, data: bytes = b"", **options: Any) -> None:
            self._digest = real(**options)
            self.update(data, 2)

        def update(self, data: Any, depth: int = 1) -> None:
            hashed[sys._getframe(depth).f_globals["__name__"]] += memoryview(data).nbytes
            self._digest.update(data)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._digest, name)

    hashlib.sha256 = Counting  # type: ignore[assignment]
    import zoo.cli

    status = zoo.cli.run(argv)
    io = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    found = {"hashed": dict(hashed.most_common(4)), "read": int(io["rchar"]), "peak_mb": peak}
    print(json.dumps(found), file=sys.stderr)
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.resolve()
    checkpoint = folder / "checkpoint"
    zoo = [sys.executable, "-m", "zoo", "--zoo", str(folder / "zoo")]
    (folder / "zoo").mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-r", str(REPOSITORY / "recipes"), str(folder / "zoo/")], check=True)
    (folder / "zoo/zoo.toml").write_text("")
    if not checkpoint.exists():
        subprocess.run([*zoo, "standin", NAME, "--out", str(checkpoint), "--fill", "random"], check=True)
    token = open_users(folder / "hub").add(OWNER, (), "write")[0]
    hub = HubProcess(folder / "hub", token, "", "")
    hub.start()
    try:
        args = ["--zoo", str(folder / "zoo"), "release", NAME, "--push", "--to", hub.url]
        args += ["--checkpoint", str(checkpoint), "--allow-standin"]
        for gate in ("bytes", "replay", "smoke"):
            args += ["--unchecked", f"{gate}={REASON}"]
        argv = [sys.executable, "-m", "tests.reliability.big", "--release", *args]
        env = {**hub.env(), "XDG_CACHE_HOME": str(folder / "cache")}
        done = subprocess.run(argv, env=env, cwd=REPOSITORY, check=False)
        assert hub.process is not None
        status = Path(f"/proc/{hub.process.pid}/status").read_text()
        print(next(line for line in status.splitlines() if line.startswith("VmHWM")), "(the hub)")
    finally:
        hub.stop()
    return done.returncode


if __name__ == "__main__":
    os.environ.pop("HF_HUB_OFFLINE", None)
    sys.exit(release(sys.argv[2:]) if sys.argv[1:2] == ["--release"] else main())
