"""Whether as many tokens are proposed per step as the draft was trained for.

``proposed / verify steps + 1`` only repeats the server's argument. The longest run that was accepted and the
warning of the draft worker do not, and both must agree with it.
"""

from __future__ import annotations

from zoo.evidence import Result
from zoo.smoke.counts import pooled
from zoo.smoke.probes.verdicts import failed, not_checked, passed, proposals_of, short
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import BLOCK

# dflash_worker_v2.py of SGLang 0.5.14 and 0.5.23: a warning, and the command wins over the config.
_MISMATCH = "DFLASH block size mismatch"


def judge(served: Served) -> Result:
    proposed = proposals_of(served)
    if not proposed:
        return not_checked(BLOCK, "the recipe does not say how many tokens the draft proposes")
    if isinstance(served.greedy, Absent):
        return not_checked(BLOCK, served.greedy)
    sampled = () if isinstance(served.sampled, Absent) else served.sampled
    counts = pooled(answer.counts for answer in (*served.greedy, *sampled))
    if not counts.verify_steps:
        return not_checked(BLOCK, "the server counted no verify step")
    each = counts.proposed / counts.verify_steps
    problems = []
    if each != proposed:
        problems.append(f"{each:g} tokens are proposed per step (a block of {each + 1:g}), not {proposed}")
    if counts.longest > proposed:
        problems.append(f"a step accepted {counts.longest} tokens, more than the {proposed} of a block")
    if not isinstance(served.log, Absent) and _MISMATCH in served.log:
        problems.append(f"the log says {_MISMATCH!r}: the command's number was taken instead of the config's")
    said = {
        "proposed_per_step": short(each),
        "longest_accepted": counts.longest,
        "whole_blocks": counts.at_least(proposed),
        "verify_steps": counts.verify_steps,
    }
    return failed(BLOCK, problems, said) if problems else passed(BLOCK, said)
