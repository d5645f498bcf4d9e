"""Whether a prompt that fills the context is served, and what is accepted there. Accept length falls with
context, so that it is recorded and not judged."""

from __future__ import annotations

from zoo.evidence import Result
from zoo.smoke.probes.verdicts import counted, failed, not_checked, passed
from zoo.smoke.served import Absent, Refused, Served
from zoo.smoke.settings import LONG_CONTEXT


def judge(served: Served) -> Result:
    answer = served.long
    if isinstance(answer, Absent):
        return not_checked(LONG_CONTEXT, answer)
    if isinstance(answer, Refused):
        return failed(LONG_CONTEXT, f"the long prompt is answered with {answer.status}: {answer.said}")
    said = {"prompt_tokens": len(answer.input_ids), "output_tokens": len(answer.output_ids)}
    if not answer.output_ids or answer.finish not in ("length", "stop"):
        return failed(LONG_CONTEXT, f"the long prompt ended with {answer.finish!r}", said)
    if answer.counts is None:
        return not_checked(LONG_CONTEXT, "the server counted no verify step for the long prompt", said)
    problems = answer.counts.problems()
    said |= counted(served, [answer])
    return failed(LONG_CONTEXT, problems, said) if problems else passed(LONG_CONTEXT, said)
