"""What a release does with a hub, done with the real client: ``python tests/hub/probe.py``.

It needs nothing but huggingface_hub, so that any version of it can be tried:

    $ zoo hub user add DIR alice --org acme; zoo hub user add DIR alice --read-only; zoo hub user add DIR bob
    $ zoo hub serve DIR
    $ HF_ENDPOINT=http://127.0.0.1:8000 HF_HUB_DISABLE_XET=1 HF_TOKEN=... READ_TOKEN=... STRANGER_TOKEN=... \\
        PYTHON tests/hub/probe.py acme/some-new-name

Prints "ok NAME" or "FAILED NAME" per probe; the exit status is the number of failures.
"""

from __future__ import annotations

import sys
import traceback

import huggingface_hub
import probe_files
import probe_people


def main() -> int:
    print(f"huggingface_hub {huggingface_hub.__version__}")
    failures = 0
    probes = [item for module in (probe_files, probe_people) for item in vars(module).items()]
    for name, probe in probes:
        if not name.startswith("probe_"):
            continue
        try:
            probe()
        except Exception:
            failures += 1
            print(f"FAILED {name}\n{traceback.format_exc()}")
        else:
            print(f"ok {name}")
    return failures


if __name__ == "__main__":
    sys.exit(main())
