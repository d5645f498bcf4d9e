"""Whether the server came up, and is the engine that the profile pins."""

from __future__ import annotations

from packaging.version import Version

from zoo.evidence import Result
from zoo.recipe.model import Profile
from zoo.smoke.probes.verdicts import failed, passed
from zoo.smoke.settings import READY, REFERENCE


def result(profile: Profile, engine: str, version: str, seconds: float) -> Result:
    """``engine`` and ``version``: what runs, by its own word. ``seconds`` until it answered."""
    said = {"seconds": round(seconds, 1), "engine": engine, "version": version}
    if engine != REFERENCE and Version(version).public != profile.version.public:
        pinned = f"{profile.engine}=={profile.version}"
        return failed(READY, f"{engine} {version} runs, the profile pins {pinned}", said)
    return passed(READY, said)
