"""Whether the accept length is that of text, and not of a loop.

A greedy target may fall into a loop, and a draft that copies then has nearly all accepted: one prompt of
sixteen with an accept length of 4.4 lifted a pooled 2.0. Looping answers are counted, and the accept length
is given without them too.
"""

from __future__ import annotations

from collections.abc import Sequence

from zoo.evidence import Result
from zoo.smoke.probes.verdicts import counted, failed, not_checked, passed, short
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import REPETITION

# A loop repeats n-grams of this length; other text hardly does.
_NGRAM = 8
# An answer loops when so much of its end says what it has said before.
_SHARE = 0.5
# Shorter answers cannot show it.
_FEWEST = 4 * _NGRAM


def judge(served: Served) -> Result:
    if isinstance(served.greedy, Absent):
        return not_checked(REPETITION, served.greedy)
    long = [answer for answer in served.greedy if len(answer.output_ids) >= _FEWEST]
    if not long:
        return not_checked(REPETITION, f"no answer has {_FEWEST} tokens")
    looping = [answer for answer in long if repeated(answer.output_ids) > _SHARE]
    others = [answer for answer in served.greedy if answer not in looping]
    share = len(looping) / len(served.greedy)
    said = {
        "looping": len(looping),
        "answers": len(served.greedy),
        "share": short(share),
        "without_them": short(counted(served, others).get("accept_length", 1.0)) if others else 1.0,
        "with_them": short(counted(served, served.greedy).get("accept_length", 1.0)),
    }
    if share > served.settings.looping:
        return failed(
            REPETITION,
            f"{len(looping)} of {len(served.greedy)} answers repeat themselves: their accept length is that "
            f"of a loop; choose other prompts (without them it is {said['without_them']:.2f})",
            said,
        )
    return passed(REPETITION, said)


def repeated(tokens: Sequence[int]) -> float:
    """The share of n-grams in the second half of ``tokens`` that the answer had before."""
    seen: set[tuple[int, ...]] = set()
    again = total = 0
    for start in range(len(tokens) - _NGRAM + 1):
        gram = tuple(tokens[start : start + _NGRAM])
        if start + _NGRAM > len(tokens) // 2:
            total += 1
            again += gram in seen
        seen.add(gram)
    return again / total if total else 0.0
