"""The engine: one request at a time through target and draft, and what is counted meanwhile.

A verify step asks the draft for a block, checks it with one forward pass of the target, and takes what the
target accepts and one token more. The counts are those of ``zoo.replay.acceptance``: the first token comes
from the prefill and belongs to no step, and the last step counts all that it accepted, also where the answer
is cut.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from zoo.replay.reference.dflash import DFlash
from zoo.smoke.reference.draft import Proposer
from zoo.smoke.reference.requests import Request
from zoo.smoke.reference.sampling import Sampling, verify
from zoo.smoke.reference.target import Target

Finish = dict[str, Any]
# A log probability, its token, and a place for the text, which stays empty: SGLang's triples.
Scored = tuple[float | None, int, None]


@dataclass(frozen=True, slots=True)
class Scores:
    """Log probabilities of some tokens: of each one itself, and of the likeliest ones at its place. None
    where nothing comes before the token."""

    tokens: list[Scored] = field(default_factory=list)
    top: list[list[Scored] | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request has got so far. ``tokens`` end where the answer ends; ``finish`` is None before that.

    ``accepted`` has the number of accepted proposals of each verify step. ``prompt`` and ``output`` are there
    where log probabilities were asked for.
    """

    tokens: list[int]
    finish: Finish | None
    accepted: tuple[int, ...]
    prompt: Scores
    output: Scores

    @property
    def histogram(self) -> list[int]:
        """Steps that accepted 0, 1, ... proposals, up to the most that one did (as SGLang's)."""
        return [self.accepted.count(k) for k in range(max(self.accepted, default=-1) + 1)]


class Engine:
    """Target and draft (None: the target alone). Requests wait for each other."""

    def __init__(self, target: Target, draft: DFlash | None, seed: int) -> None:
        self.target, self.draft, self._seed = target, draft, seed
        self.steps = self.correct = 0  # of all requests since the start
        self._requests = 0
        self._lock = threading.Lock()
        self._last = time.monotonic()

    @property
    def block_size(self) -> int | None:
        return None if self.draft is None else self.draft.reading.block_size

    def generate(self, request: Request) -> Iterator[Answer]:
        """The answer after the prefill and after each step; the last one is finished."""
        with self._lock:
            self._requests += 1
            generator = torch.Generator().manual_seed(self._seed + self._requests)
            for answer in _answers(self.target, self.draft, request, generator):
                self._last = time.monotonic()
                if answer.finish is not None:
                    self.steps += len(answer.accepted)
                    self.correct += sum(answer.accepted)
                yield answer

    def healthy(self, patience: float) -> bool:
        """Whether a token comes within ``patience`` seconds, for this question or for a request that runs."""
        asked = time.monotonic()
        while time.monotonic() < asked + patience:
            if self._lock.acquire(timeout=0.1):
                try:
                    self.probe()
                finally:
                    self._lock.release()
                return True
            if self._last > asked:
                return True
        return False

    def probe(self) -> None:
        """A few tokens that nobody asked for and that nothing counts."""
        steps = _answers(
            self.target, self.draft, Request((0,), Sampling(2, 0, ignore_eos=True)), torch.Generator()
        )
        for _ in steps:
            pass


def _answers(
    target: Target, draft: DFlash | None, request: Request, generator: torch.Generator
) -> Iterator[Answer]:
    sampling, cache = request.sampling, DynamicCache()
    proposer = None if draft is None else Proposer(draft, target)
    with torch.inference_mode():
        prompt, token, output = _prefill(target, proposer, request, cache, generator)
    tokens, accepted = [token], list[int]()
    while True:
        kept, finish = _cut(tokens, sampling, target.ends)
        output.tokens[len(kept) :], output.top[len(kept) :] = [], []
        yield Answer(kept, finish, tuple(accepted), prompt, output)
        if finish is not None:
            return
        with torch.inference_mode():
            fresh, scores = _step(target, proposer, tokens[-1], request, cache, generator)
        tokens += fresh
        output.tokens.extend(scores.tokens)
        output.top.extend(scores.top)
        if proposer is not None:
            accepted.append(len(fresh) - 1)


def _prefill(
    target: Target,
    proposer: Proposer | None,
    request: Request,
    cache: DynamicCache,
    generator: torch.Generator,
) -> tuple[Scores, int, Scores]:
    """Scores of the prompt, the first token, and its scores."""
    ids, asked = request.input_ids, request.logprobs
    scored = 0 if asked is None else len(ids) - asked.start
    logits, states = target.forward(ids, cache, keep=max(1, scored))
    if proposer is not None:
        proposer.see(states)
    _, token = verify([], logits[-1:], request.sampling, generator)
    if asked is None:
        return Scores(), token, Scores()
    prompt = Scores()
    if scored:  # the token at the start has no score, as in SGLang
        prompt = score(logits[:-1], ids[asked.start + 1 :], asked.top)
        prompt.tokens.insert(0, (None, ids[asked.start], None))
        if asked.top:
            prompt.top.insert(0, None)
    return prompt, token, score(logits[-1:] / (request.sampling.temperature or 1), [token], asked.top)


def _step(
    target: Target,
    proposer: Proposer | None,
    anchor: int,
    request: Request,
    cache: DynamicCache,
    generator: torch.Generator,
) -> tuple[list[int], Scores]:
    """The accepted proposals and the token after them; without a draft that token alone. With its scores."""
    proposed = [] if proposer is None else proposer.propose(anchor)
    logits, states = target.forward([anchor, *proposed], cache, keep=len(proposed) + 1)
    accepted, token = verify(proposed, logits, request.sampling, generator)
    # Negative means "remove that many"; transformers 5.24 refuses a positive, absolute length.
    cache.crop(accepted - len(proposed))
    if proposer is not None:
        proposer.see(states[: accepted + 1])
    scores = Scores()
    if request.logprobs is not None:
        scores = score(logits[-1:] / (request.sampling.temperature or 1), [token], request.logprobs.top)
    return [*proposed[:accepted], token], scores


def score(logits: Tensor, tokens: Sequence[int], top: int) -> Scores:
    """Log probabilities of ``tokens`` [n] under ``logits`` [n, V], and the ``top`` likeliest of each row."""
    rows = logits.log_softmax(-1)
    own = rows.gather(-1, torch.tensor([list(tokens)], dtype=torch.int64).T)[:, 0].tolist()
    found = Scores([(value, token, None) for value, token in zip(own, tokens, strict=True)])
    if top:
        best = rows.topk(min(top, rows.shape[-1]), dim=-1)
        for values, ids in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            found.top.append([(value, token, None) for value, token in zip(values, ids, strict=True)])
    return found


def _cut(tokens: list[int], sampling: Sampling, ends: frozenset[int]) -> tuple[list[int], Finish | None]:
    """The tokens up to the end of the answer, and how it ended. A token that ends it stays in it.

    At the limit the reason is the length, also for an end token there, as in SGLang 0.5.14. (That engine
    looks at the limit first: with a draft it keeps what its last block has behind an end token. Here that is
    cut, so that the tokens are those of the target alone.)
    """
    stops = frozenset() if sampling.ignore_eos else ends | sampling.stops
    end = next((at for at, token in enumerate(tokens) if token in stops), len(tokens))
    if end + 1 < sampling.max_new_tokens and end < len(tokens):
        return tokens[: end + 1], {"type": "stop", "matched": tokens[end]}
    if len(tokens) >= sampling.max_new_tokens:
        return tokens[: sampling.max_new_tokens], {"type": "length", "length": sampling.max_new_tokens}
    return list(tokens), None
