"""Servers that behave badly, as real child processes: ``python servers.py KIND PORT``.

They answer as an engine does at /health_generate, and print what engines print.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _serve(port: int) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", port), _Answer)
    print("The server is fired up and ready to roll!", flush=True)
    server.serve_forever()


def _ignore_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def main(kind: str, port: int) -> None:
    match kind:
        case "healthy":
            signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        case "kills-itself":  # as SGLang ends its own tree after SIGTERM
            signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        case "deaf":
            _ignore_sigterm()
        case "slow":
            for step in range(4):
                print(f"Loading safetensors checkpoint shards: {step}/4", flush=True)
                time.sleep(0.3)
        case "silent":
            print("Loading weights", flush=True)
            time.sleep(600)
        case "chatty":
            while True:
                print("still loading", flush=True)
                time.sleep(0.1)
        case "wrong-flag":
            print("usage: launch_server.py [-h]", file=sys.stderr)
            print("launch_server.py: error: unrecognized arguments: --speculative-drafts 8", file=sys.stderr)
            sys.exit(2)
        case "gpu-memory":
            print("[2026-12-01 00:00:00] Scheduler hit an exception: Traceback (most recent call last):")
            print('  File "scheduler.py", line 1, in run')
            print(
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total"
            )
            print(
                "[2026-12-01 00:00:01] Received sigquit from a child process. It usually means the child "
                "failed."
            )
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        case "fc-width":
            raise ValueError(
                "DFLASH fc.weight shape mismatch. This usually means the draft checkpoint's number"
            )
        case "unheard-of":
            raise RuntimeError("the flux capacitor is empty")
        case "unheard-of-scheduler":
            print("[2026-12-01 00:00:00] Scheduler hit an exception: Traceback (most recent call last):")
            print('  File "scheduler.py", line 1, in run')
            print("sglang.FluxError: the flux capacitor is empty")
            print("[2026-12-01 00:00:01] Received sigquit from a child process. It usually means it failed.")
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        case "quiet-death":
            sys.exit(3)
        case "collides-once":  # with the port on which its own ranks meet
            tried = Path(os.environ["TRIED"])
            tried.write_text(tried.read_text() + f"{port}\n" if tried.exists() else f"{port}\n")
            if len(tried.read_text().splitlines()) < int(os.environ["COLLISIONS"]) + 1:
                print(
                    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
                    "network address. port: 41235, useIpv6: false, code: -98, name: EADDRINUSE, message: "
                    "address already in use"
                )
                sys.exit(1)
        case "children":  # one in the group, one that made a session of its own
            sleeping = [sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"]
            subprocess.Popen(sleeping)
            subprocess.Popen(sleeping, start_new_session=True)
        case "children-then-fails":
            # One forgets the mark that it was given, as a process that is ending does.
            sleeping = "import signal, time; signal.signal(15, 1); time.sleep(600)"
            again = f"os.execve(sys.executable, ['x', '-c', {sleeping!r}], {{}})"
            for code in (sleeping, f"import os, sys, time; time.sleep(2); {again}"):
                made = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
                print("child", made.pid, flush=True)
            time.sleep(4)
            raise RuntimeError("the flux capacitor is empty")
        case "imports":
            import zoo

            torch = importlib.util.find_spec("torch")
            print("zoo is", zoo.__file__, "and torch", torch.origin if torch else "nowhere", flush=True)
        case "dies-later":
            threading.Timer(0.5, lambda: os._exit(1)).start()
        case "fills-the-disk":
            try:
                while True:
                    os.write(1, b"x" * 65536 + b"\n")
            except OSError as error:
                os._exit(error.errno == errno.ENOSPC)
        case "long-log":
            for number in range(45_000):
                print(f"[2026-12-01 00:00:00] Decode batch {number}, {'.' * 200}")
            raise ValueError("DFLASH mask_token_id is outside the target vocab size. mask_token_id=99")
        case "secret":
            print("token in the environment:", "HF_TOKEN" in os.environ, os.environ["PROFILE"], flush=True)
        case _:
            raise SystemExit(f"no server of the kind {kind}")
    _serve(port)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
