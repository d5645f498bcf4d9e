"""What can go wrong with one request, as the columns of the fault matrix."""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """The value is the heading of the column. ``applied``: the hub did what was asked, whatever the client is
    told."""

    ERROR = "500 before"
    LOST = "500 after"
    RATE = "429"
    RESET = "reset, applied"
    MIDWAY = "reset midway"
    TIMEOUT = "timeout, applied"
    FORBIDDEN = "403"
    MOVED = "412"
    KILL = "killed before"
    KILLED = "killed after"
    HUB = "hub killed under way"
    HUB_AFTER = "hub killed after it"

    @property
    def applied(self) -> bool:
        return self in (Fault.LOST, Fault.RESET, Fault.TIMEOUT, Fault.KILLED)

    @property
    def kills_the_release(self) -> bool:
        return self in (Fault.KILL, Fault.KILLED)

    @property
    def kills_the_hub(self) -> bool:
        return self in (Fault.HUB, Fault.HUB_AFTER)


# What each column does, for the page.
ABOUT = {
    Fault.ERROR: "the hub is not asked, and the answer is 500",
    Fault.LOST: "the hub does it, and the answer is 500",
    Fault.RATE: "the hub is not asked, and the answer is 429 with `Retry-After: 1` and `RateLimit`",
    Fault.RESET: "the hub does it, and the connection is reset (RST) before the answer",
    Fault.MIDWAY: "the connection is reset when half of the body has arrived; of a request without a body, "
    "when half of the answer has",
    Fault.TIMEOUT: "the hub does it, and no answer ever comes (`--timeout 6`)",
    Fault.FORBIDDEN: "the hub is not asked, and the answer is 403",
    Fault.MOVED: "the hub is not asked, and the answer is 412",
    Fault.KILL: "the release gets SIGKILL, and the hub is not asked",
    Fault.KILLED: "the hub does it, and the release gets SIGKILL before the answer",
    Fault.HUB: "the hub gets SIGKILL while it works on the request, and is started again",
    Fault.HUB_AFTER: "the hub gets SIGKILL as soon as its answer has arrived, and is started again",
}
STATUS = {Fault.ERROR: 500, Fault.LOST: 500, Fault.RATE: 429, Fault.FORBIDDEN: 403, Fault.MOVED: 412}
ON_A_REQUEST = tuple(fault for fault in Fault if not fault.kills_the_hub)
ON_THE_HUB = (Fault.HUB, Fault.HUB_AFTER)
THAT_STAY = (Fault.ERROR, Fault.LOST, Fault.RATE, Fault.RESET, Fault.MIDWAY, Fault.FORBIDDEN, Fault.MOVED)
