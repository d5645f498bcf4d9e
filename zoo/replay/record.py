"""Recording a trace: the target runs over conversations in transformers, and its states are kept.

The continuation is the target's greedy one, or drawn at a temperature, unless it is given. Then one forward
pass over prompt and continuation gives the states of every token, so that all are recorded in the same way. A
few more tokens beyond its end are recorded too (greedy ones after a given continuation): a server's last
verify steps look at them. Only the layers that are wanted are kept, by hooks: ``output_hidden_states`` would
hold all of them, and gives the normed state in place of the output of the last layer, which is not what
engines capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo import __version__
from zoo.errors import UsageError
from zoo.printable import printable, quoted
from zoo.replay.conversations import Asked, conversations_digest
from zoo.replay.drawing import drawn
from zoo.replay.target import TargetFiles
from zoo.replay.trace import (
    EMBEDDING,
    FINAL,
    LM_HEAD,
    TOKENS,
    TORCH_DTYPES,
    Trace,
    open_trace,
    state_name,
    tensor_file,
)
from zoo.replay.writing import Plan, Recording, recording

if TYPE_CHECKING:
    from torch import Tensor

# Rows of logits at a time: 160 MB for a vocabulary of 163,840 in fp32.
_ROWS = 256
# How far final x lm_head may be from the model's own logits, as a share of the largest: rounding only.
_ROUNDING = {"F32": 1e-3, "BF16": 3e-2, "F16": 1e-2}


@dataclass(frozen=True, slots=True)
class Settings:
    """How a trace is recorded. ``layers`` in rising order, -1 for the output of the embedding; dtypes as a
    safetensors header spells them; ``beyond`` tokens are recorded after the end of each continuation;
    ``batch`` conversations run at once. ``temperature``: with which continuations that are not given are
    drawn, 0 for greedy ones; ``seed`` is for that."""

    layers: tuple[int, ...]
    dtype: str = "BF16"
    compute_dtype: str = "F32"
    device: str = "cpu"
    max_new_tokens: int = 256
    ignore_eos: bool = False
    beyond: int = 16
    batch: int = 8
    temperature: float = 0.0
    seed: int = 0


def plan_recording(
    name: str, files: TargetFiles, asked: Sequence[Asked], domain: str, settings: Settings
) -> Plan:
    """What the recording will be. Loads no model.

    Raises:
        UsageError: torch or transformers is missing, or a layer is none of the target's.
    """
    torch, transformers = _libraries()
    sampled = {"temperature": settings.temperature, "seed": settings.seed} if settings.temperature else {}
    index = {
        "name": name,
        **files.as_index(),
        "dtype": settings.dtype,
        "software": {
            "draft-zoo": __version__,
            "torch": str(torch.__version__),
            "transformers": str(transformers.__version__),
        },
        "layers": list(settings.layers),
        "final": "normed",
        "domain": domain,
        "how": {
            "source": "transformers",
            "conversations_sha256": conversations_digest(tuple(asked)),
            "compute_dtype": settings.compute_dtype,
            "device": settings.device,
            "max_new_tokens": settings.max_new_tokens,
            "ignore_eos": settings.ignore_eos,
            "beyond": settings.beyond,
            **sampled,
        },
    }
    lengths = [
        len(each.prompt)
        + (settings.max_new_tokens if each.continuation is None else len(each.continuation))
        + settings.beyond
        for each in asked
    ]
    return Plan(index, lengths)


def record(
    out: Path,
    plan: Plan,
    files: TargetFiles,
    asked: Sequence[Asked],
    settings: Settings,
    told: Callable[[int], None],
) -> Trace:
    """Record ``asked`` into the folder ``out``, or go on with a recording that was stopped. ``told`` gets the
    number of conversations that were finished.

    Raises:
        UsageError: transformers cannot run the target, or its logits are not final state x lm_head.
        OSError: the folder cannot be written; what is finished stays, and the same command goes on.
    """
    torch, _ = _libraries()
    with recording(out, plan) as work, torch.inference_mode():
        head = files.head.write(work)
        left = [number for number in range(len(asked)) if not work.finished(number)]
        told(len(asked) - len(left))
        if left:
            runner = _Runner(files, settings, _lm_head(work, head, settings))
            runner.check_logits(asked[left[0]].prompt)
        for begin in range(0, len(left), settings.batch):
            numbers = left[begin : begin + settings.batch]
            with _memory_errors():
                runner.run(work, {number: asked[number] for number in numbers})
            told(len(numbers))
        work.complete(head)
    return open_trace(out)


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise UsageError(
            f"recording needs torch and transformers ({error})", hint="pip install 'draft-zoo[torch]'"
        ) from error
    return torch, transformers


def _lm_head(work: Recording, head: dict[str, Any], settings: Settings) -> Tensor:
    """The head that replay will use, [V, H]."""
    import torch

    names = (EMBEDDING,) if head["tied"] else (EMBEDDING, LM_HEAD)
    file = tensor_file(work.folder, head, dict.fromkeys(names))
    return file.tensor(names[-1], settings.device, getattr(torch, TORCH_DTYPES[settings.compute_dtype]))


class _Runner:
    """The target, loaded, and what is done with it."""

    def __init__(self, files: TargetFiles, settings: Settings, lm_head: Tensor) -> None:
        self._settings = settings
        self._lm_head = lm_head
        self._model, self._ends = _load(files, settings)
        self._decoder = self._model.get_decoder()
        self._layers: Any = getattr(self._decoder, "layers", ())
        if len(self._layers) != files.target.layers:
            raise UsageError(
                f"transformers' {type(self._model).__name__} shows {len(self._layers)} decoder layers, "
                f"and {files.target.file} says {files.target.layers}",
                hint="such a target needs an import: zoo trace TARGET --import DUMP",
            )

    def check_logits(self, prompt: Sequence[int]) -> None:
        """That ``final @ lm_head.T`` is what the model calls its logits: no scale, no bias, no soft cap.

        Raises:
            UsageError: it is not.
        """
        import torch

        ids = torch.tensor([prompt], device=self._settings.device)
        own = self._model(input_ids=ids, use_cache=False).logits[0, -1].float()
        final = self._decoder(input_ids=ids, use_cache=False).last_hidden_state[0, -1]
        ours = (final @ self._lm_head.T).float()[: len(own)]
        off = float((own - ours).abs().max() / own.abs().max())
        if not off <= _ROUNDING[self._settings.compute_dtype]:
            raise UsageError(
                f"the target's logits are not final state x lm_head: off by {off:.1%} of the largest",
                hint="it scales or caps them, or has another head: it cannot be replayed from a trace",
            )

    def run(self, work: Recording, asked: dict[int, Asked]) -> None:
        """Record a batch: conversation number -> conversation."""
        import torch

        sequences, ends = self._completed(asked)
        longest = max(map(len, sequences.values()))
        ids = torch.zeros((len(sequences), longest), dtype=torch.int64)
        mask = torch.zeros_like(ids)
        for row, tokens in enumerate(sequences.values()):  # padded on the right: no causal token sees it
            ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = 1
        ids, mask = ids.to(self._settings.device), mask.to(self._settings.device)
        with self._tapped() as states:
            output = self._decoder(input_ids=ids, attention_mask=mask, use_cache=False)
        for row, (number, tokens) in enumerate(sequences.items()):
            count = len(tokens)
            own = {layer: states[layer][row, :count] for layer in self._settings.layers}
            final = output.last_hidden_state[row, :count]
            self._keep(work, number, asked[number], tokens, ends[number], own, final)

    def _completed(self, asked: dict[int, Asked]) -> tuple[dict[int, list[int]], dict[int, int]]:
        """All tokens of each conversation, and where its continuation ends."""
        settings = self._settings
        open_ended = {n: each.prompt for n, each in asked.items() if each.continuation is None}
        given = {n: (*each.prompt, *each.continuation) for n, each in asked.items() if each.continuation}
        ends = frozenset[int]() if settings.ignore_eos else self._ends
        processors = []
        if settings.temperature:
            names = [asked[number].name for number in open_ended]
            processors = [drawn(names, settings.temperature, settings.seed)]
        grown = self._grown(open_ended, settings.max_new_tokens, ends, processors)
        grown |= self._grown(given, 0, frozenset(), [])
        return {n: grown[n][0] for n in asked}, {n: grown[n][1] for n in asked}

    def _grown(
        self,
        prompts: dict[int, tuple[int, ...]],
        most: int,
        ends: frozenset[int],
        processors: list[Any],
    ) -> dict[int, tuple[list[int], int]]:
        """Each prompt with up to ``most`` tokens, to the first of ``ends``, and those beyond; and where the
        former end. The tokens are the likeliest ones after the logits went through ``processors``."""
        import torch
        import transformers

        beyond = self._settings.beyond
        if not prompts or most + beyond == 0:
            return {number: (list(prompt), len(prompt)) for number, prompt in prompts.items()}
        longest = max(map(len, prompts.values()))
        ids = torch.zeros((len(prompts), longest), dtype=torch.int64)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts.values()):  # padded on the left, so that all go on at one place
            ids[row, longest - len(prompt) :] = torch.tensor(prompt)
            mask[row, longest - len(prompt) :] = 1
        stop = transformers.StoppingCriteriaList([_ended(longest, beyond, ends)] if ends else [])
        device = self._settings.device
        output = self._model.generate(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            max_new_tokens=most + beyond,
            do_sample=False,
            logits_processor=transformers.LogitsProcessorList(processors),
            stopping_criteria=stop,
        )
        grown = {}
        for (number, prompt), new in zip(prompts.items(), output[:, longest:].tolist(), strict=True):
            stopped = next((at + 1 for at, token in enumerate(new[:most]) if token in ends), most)
            grown[number] = ([*prompt, *new[: stopped + beyond]], len(prompt) + stopped)
        return grown

    def _keep(
        self,
        work: Recording,
        number: int,
        asked: Asked,
        tokens: list[int],
        end: int,
        states: dict[int, Tensor],
        final: Tensor,
    ) -> None:
        import torch

        dtype = getattr(torch, TORCH_DTYPES[self._settings.dtype])
        kept = {state_name(layer): state.to(dtype) for layer, state in states.items()} | {
            FINAL: final.to(dtype)
        }
        for name, tensor in kept.items():
            if not bool(torch.isfinite(tensor).all()):
                raise UsageError(
                    f"conversation {quoted(asked.name)}: {name} has NaN or Inf",
                    hint="record with --compute-dtype float32 and --dtype bfloat16",
                )
        drawn_at = (self._settings.temperature or 0) if asked.continuation is None else asked.temperature
        wanted = torch.tensor(tokens)
        begin = len(asked.prompt)
        best = argmax(kept[FINAL][begin - 1 : end - 1].to(self._lm_head.dtype), self._lm_head)
        facts = {
            "name": asked.name,
            "domain": asked.domain,
            "tokens": len(tokens),
            "prompt_length": begin,
            "end": end,
            "temperature": drawn_at,
            "greedy": int((best.cpu() == wanted[begin:end]).sum()),
        }
        work.keep(number, facts, {name: [raw(tensor)] for name, tensor in ({TOKENS: wanted} | kept).items()})

    @contextmanager
    def _tapped(self) -> Iterator[dict[int, Tensor]]:
        """The states [b, n, H] of the wanted layers, by id, of the forward pass made inside."""
        states: dict[int, Tensor] = {}
        hooks = [self._tap(layer, states) for layer in self._settings.layers]
        try:
            yield states
        finally:
            for hook in hooks:
                hook.remove()

    def _tap(self, layer: int, states: dict[int, Tensor]) -> Any:
        import torch

        if layer == -1:

            def before(_: Any, positional: Any, named: Any) -> None:
                states[-1] = (*positional, named.get("hidden_states"))[0]

            return self._layers[0].register_forward_pre_hook(before, with_kwargs=True)

        def after(_: Any, __: Any, output: Any) -> None:
            states[layer] = output if isinstance(output, torch.Tensor) else output[0]

        return self._layers[layer].register_forward_hook(after)


def argmax(states: Tensor, lm_head: Tensor) -> Tensor:
    """The greedy token after each of the final ``states`` [n, H], int64 [n], a few rows at a time."""
    import torch

    parts = [states[begin : begin + _ROWS] for begin in range(0, len(states), _ROWS)]
    return torch.cat([(rows @ lm_head.T).argmax(-1) for rows in parts])


def raw(tensor: Tensor) -> memoryview:
    """The bytes of a tensor, as safetensors stores them."""
    import torch

    flat: Any = tensor.contiguous().cpu().view(torch.uint8).flatten().numpy()
    return memoryview(flat)


def _ended(begin: int, beyond: int, ends: frozenset[int]) -> Any:
    """A criterion for ``generate``: stop when each row has one of ``ends`` at or after position ``begin``,
    and ``beyond`` tokens after it."""
    import torch
    import transformers

    class Ended(transformers.StoppingCriteria):  # type: ignore[misc, no-any-unimported, unused-ignore]
        def __call__(self, input_ids: Tensor, scores: Any, **_: Any) -> Tensor:
            last = max(begin, input_ids.shape[1] - beyond)
            tokens = torch.tensor(sorted(ends), device=input_ids.device)
            found = torch.isin(input_ids[:, begin:last], tokens).any(1)
            return found.all().expand(len(input_ids))

    return Ended()


def _load(files: TargetFiles, settings: Settings) -> tuple[Any, frozenset[int]]:
    """The target in transformers and its end tokens: local safetensors, no code of the folder.

    Raises:
        UsageError: the folder is remote, or transformers cannot load it.
    """
    torch, transformers = _libraries()
    if files.folder is None:
        raise UsageError(
            f"{quoted(files.checkpoint.source)} is remote, and recording runs the whole target",
            hint="download it and give its folder: --model FOLDER",
        )
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise UsageError("torch sees no CUDA device", hint="record on the CPU: --device cpu")
    transformers.logging.disable_progress_bar()
    transformers.logging.set_verbosity_error()
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            files.folder,
            dtype=getattr(torch, TORCH_DTYPES[settings.compute_dtype]),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        reason = printable(str(error).strip().split("\n")[0], limit=300)
        raise UsageError(
            f"transformers cannot load {quoted(files.checkpoint.source)}: {reason}",
            hint="only models that transformers knows itself can be recorded; for others: --import DUMP",
        ) from error
    stated = model.generation_config.eos_token_id
    if stated is None:
        stated = getattr(model.config.get_text_config(), "eos_token_id", None)
    ends = frozenset([stated] if isinstance(stated, int) else stated or ())
    # Greedy means greedy: a folder's generation_config may add penalties and temperatures of its own.
    model.generation_config = transformers.GenerationConfig(pad_token_id=min(ends, default=0))
    return model.to(settings.device).eval(), ends


@contextmanager
def _memory_errors() -> Iterator[None]:
    import torch

    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise UsageError(
            "the GPU has too little memory for this batch",
            hint="run the same command with a smaller --batch: it goes on where it stopped",
        ) from error
