"""Whether the log holds a message that is known to mean trouble. Messages are matched one by one
(``zoo.smoke.log_table``), since healthy logs are full of "falling back" and "ignore import error"."""

from __future__ import annotations

from typing import Any

from zoo.evidence import Result
from zoo.printable import printable
from zoo.smoke.log_table import Found, diagnose
from zoo.smoke.probes.verdicts import failed, not_checked, passed
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import LOG


def judge(served: Served) -> Result:
    if isinstance(served.log, Absent):
        return not_checked(LOG, served.log)
    if not served.log.strip():
        return not_checked(LOG, "the log is empty")
    found = diagnose(served.log, served.engine, str(served.version))
    said: dict[str, Any] = {"lines": len(served.log.splitlines())}
    said |= {f"{each.known.severity}:{each.known.name}": each.count for each in found}
    bad = [each for each in found if each.known.severity == "fail"]
    if bad:
        return failed(LOG, [_words(each) for each in bad], said)
    return passed(LOG, said, "; ".join(_words(each) for each in found)[:1000])


def _words(found: Found) -> str:
    line = printable(found.line.strip(), keep="", limit=160)
    return f"{found.known.cause}: {line} ({found.known.advice})"
