"""Whether each kind of request is refused or served as it was declared (``zoo.smoke.expectations``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zoo.evidence import Result
from zoo.smoke.expectations import Tried
from zoo.smoke.probes.verdicts import failed, not_checked, passed
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import REQUESTS

_OK, _BAD_REQUEST = 200, 400


def judge(served: Served) -> Result:
    if isinstance(served.kinds, Absent):
        return not_checked(REQUESTS, served.kinds)
    said: dict[str, Any] = {each.expected.kind.name: each.status for each in served.kinds}
    problems = list(_problems(served.kinds))
    if problems:
        return failed(REQUESTS, problems, said)
    unread = [each.expected.kind.name for each in served.kinds if each.expected.refused is None]
    if len(unread) == len(served.kinds):
        reason = f"nobody has read what {served.engine} {served.version} refuses; what it answered is listed"
        return not_checked(REQUESTS, reason, said)
    return passed(REQUESTS, said, f"only reported: {', '.join(unread)}" if unread else "")


def _problems(kinds: tuple[Tried, ...]) -> Iterator[str]:
    for each in kinds:
        name, why = each.expected.kind.name, each.expected.why
        if each.status == 0 or each.status >= 500:
            yield f"{name}: {f'status {each.status}' if each.status else 'no answer'} ({each.said})"
        elif each.expected.refused and each.status == _OK:
            yield f"{name} is served, and {why} says that it is refused"
        elif each.expected.refused and each.status != _BAD_REQUEST:
            yield f"{name} is refused with {each.status}, not {_BAD_REQUEST}: {each.said}"
        elif each.expected.refused is False and each.status != _OK:
            yield f"{name} is refused ({each.status}): {each.said}"
