"""Whether the server speculates, and whether its counts add up: numbers that contradict each other show
nothing."""

from __future__ import annotations

from zoo.evidence import Result
from zoo.smoke.probes.verdicts import failed, not_checked, passed
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import SPECULATING

# A server needs no verify step for an answer of one token.
_NEEDS_A_STEP = 2


def judge(served: Served) -> Result:
    if isinstance(served.greedy, Absent):
        return not_checked(SPECULATING, served.greedy)
    sampled = () if isinstance(served.sampled, Absent) else served.sampled
    problems, counted = [], 0
    for where, answers in (("T=0", served.greedy), ("T=1", sampled)):
        for number, answer in enumerate(answers):
            if answer.counts is None:
                if len(answer.output_ids) >= _NEEDS_A_STEP:
                    problems.append(
                        f"{where}, request {number}: no verify step: the server does not speculate"
                    )
                continue
            counted += 1
            problems += [f"{where}, request {number}: {problem}" for problem in answer.counts.problems()]
    said = {"requests": len(served.greedy) + len(sampled), "with_counts": counted}
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return failed(SPECULATING, problems[0] + more, said)
    if not counted:
        return not_checked(SPECULATING, "no answer was long enough for a verify step", said)
    return passed(SPECULATING, said)
