"""Whether the draft is alive: accept length - 1 at temperature 0 above a floor.

A floor only finds dead drafts. Nothing loaded gives 0; missing or zeroed tensors and a wrong mask token gave
0.08 to 0.18 where the healthy draft had 1.08 (a 135M target, SGLang 0.5.14). A draft with shifted layers
passes: that is for ``replayed`` to find. Temperature 1 is reported and never compared with 0.
"""

from __future__ import annotations

from zoo.evidence import Result
from zoo.smoke.counts import pooled
from zoo.smoke.probes.verdicts import counted, failed, not_checked, passed
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import ACCEPT_LENGTH

# Below so many verify steps a dead draft may have been lucky.
_STEPS = 30


def judge(served: Served) -> Result:
    if isinstance(served.greedy, Absent):
        return not_checked(ACCEPT_LENGTH, served.greedy)
    counts = pooled(answer.counts for answer in served.greedy)
    said = counted(served, served.greedy)
    if not isinstance(served.sampled, Absent):
        said |= {f"t1_{key}": value for key, value in counted(served, served.sampled).items()}
    if counts.verify_steps < _STEPS:
        few = f"{counts.verify_steps} verify steps are too few, {_STEPS} are needed"
        return not_checked(ACCEPT_LENGTH, f"{few}: more prompts, or more tokens", said)
    gain, floor = counts.accept_length - 1, served.settings.floor
    if gain < floor:
        length = f"accept length {counts.accept_length:.2f} at temperature 0"
        return failed(ACCEPT_LENGTH, f"{length}: {gain:.2f} above 1, and the floor is {floor:g}", said)
    return passed(ACCEPT_LENGTH, said)
