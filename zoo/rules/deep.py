"""D rules: what the numbers in the weights show, from one pass over every byte (``zoo.checkpoint.scan``).

They know no reference: they find tensors that nobody trained or that training broke. Comparing with the
base draft is another group's work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from zoo.checkpoint.collect import Findings
from zoo.checkpoint.maps import is_map
from zoo.printable import quoted
from zoo.results import Finding, Severity, Where
from zoo.rules.registry import Level, rule
from zoo.rules.subject import Subject

if TYPE_CHECKING:
    from zoo.checkpoint.scan import TensorScan

STANDIN_KEY = "draft_zoo_standin"


@rule("D001", "not-finite", level=Level.DEEP, needs=("scan",))
def not_finite(subject: Subject) -> Iterable[Finding]:
    """A tensor holds NaN or Inf.

    What it does: Counts NaN and Inf in every float tensor, in the bits of the file.
    Why is this bad: One NaN in a weight makes every logit of the draft NaN. The engine then proposes the
        same token for ever, none is accepted, and the server answers correctly at an accept length of 1.
    Example: A learning rate spike in the last steps left 3 NaN in layers.5.mlp.down_proj.weight, and the
        export copied them.
    Use instead: Export an earlier checkpoint of the run whose tensors are all finite.
    Sources: vllm#53537 (a weight check at load time), safetensors README (the format allows NaN).
    Since: 0.1.0
    """

    def fact(tensor: TensorScan) -> str | None:
        counts = [f"{count:,} {word}" for count, word in ((tensor.nan, "NaN"), (tensor.inf, "Inf")) if count]
        return f"tensor {quoted(tensor.name)} holds {' and '.join(counts)}" if counts else None

    return _each(
        subject, "D001", fact, "export an earlier checkpoint of the run, whose tensors are all finite"
    )


@rule("D002", "all-zero", level=Level.DEEP, needs=("scan",))
def all_zero(subject: Subject) -> Iterable[Finding]:
    """A tensor is all zero.

    What it does: Finds tensors of which every element is 0 (or -0). Biases are left to D005: zero is how
        they start. Vocabulary maps are left to D010: zero is right for a whole vocabulary.
    Why is this bad: A zero matrix switches off a part of every layer that reads it, and a zero norm
        switches off the layer. The space was reserved and never written, or a shard of a distributed
        checkpoint was never gathered.
    Example: layers.3.self_attn.o_proj.weight is all zero, because only rank 0 saved its shard.
    Use instead: Export again with all ranks gathered, and compare with zoo verify --deep before the upload.
    Sources: huggingface_hub#3643 (a download with wrong content that was reported as complete), PyTorch
        FSDP documentation (state_dict types).
    Since: 0.1.0
    """

    def fact(tensor: TensorScan) -> str | None:
        return f"tensor {quoted(tensor.name)} is all zero" if tensor.zero and not _is_bias(tensor) else None

    return _each(subject, "D002", fact, "export the checkpoint again: this tensor was never written")


@rule("D003", "constant-matrix", level=Level.DEEP, needs=("scan",))
def constant_matrix(subject: Subject) -> Iterable[Finding]:
    """Every element of a matrix is the same number, and not 0.

    What it does: Finds tensors with two or more dimensions of which all elements are equal. All zero is D002.
    Why is this bad: Such a matrix has rank 1: it maps every input to a multiple of one vector. No training
        ends there; it is what a placeholder (torch.ones, torch.full) or a test fixture leaves.
    Example: fc.weight was replaced by torch.ones to try a loader, and the file was exported.
    Use instead: Export the trained tensor.
    Sources: linear algebra: all rows of a constant matrix are equal.
    Since: 0.1.0
    """

    def fact(tensor: TensorScan) -> str | None:
        if _is_constant(tensor) and not tensor.zero and len(tensor.shape) > 1:
            return f"tensor {quoted(tensor.name)} has the same number in all its elements"
        return None

    return _each(subject, "D003", fact, "export the trained tensor: this one is a placeholder")


@rule("D004", "stand-in", severity=Severity.WARNING, needs=("header",))
def stand_in(subject: Subject) -> Iterable[Finding]:
    """The checkpoint is a stand-in: right names and shapes, no trained weights.

    What it does: Reads the mark that zoo standin leaves in the metadata of every weights file it writes.
    Why is this bad: A stand-in passes every check of shapes and config, and would serve at an accept
        length of 1. It is for trying a pipeline; zoo release --push refuses it unless --allow-standin is
        given, and the manifest then says so.
    Example: zoo release kimi-ft-v3 --checkpoint /tmp/standin
    Use instead: Give the folder with the trained weights: --checkpoint FOLDER.
    Sources: zoo standin --help.
    Since: 0.1.0
    """
    for file in subject.checkpoint.weights if subject.checkpoint else ():
        text = file.header.metadata.get(STANDIN_KEY) if file.header else None
        if text is not None:
            found = Findings(file.name)
            hint = "to check or release the draft itself, give the folder with its trained weights"
            found.add("D004", f"is a stand-in, not a trained draft: {quoted(text)}", hint)
            yield from found.result()


@rule("D005", "constant-vector", severity=Severity.WARNING, level=Level.DEEP, needs=("scan",))
def constant_vector(subject: Subject) -> Iterable[Finding]:
    """A norm or bias is exactly as it was initialised: one number in all its elements.

    What it does: Finds vectors of more than one element whose elements are all equal (norm weights of one,
        biases of zero). A norm that is all zero is D002.
    Why is this bad: After training, the thousands of weights of a norm differ. One that is still all ones
        was frozen, left out of the optimizer, or written from a fresh model because the trained tensor had
        another name. It is a warning because freezing norms is a legitimate recipe.
    Example: hidden_norm.weight is all ones: the trainer called it context_norm, and the export filled the
        gap.
    Use instead: Look the tensor up in the training checkpoint; if it was frozen on purpose, waive D005 in
        the recipe with that reason.
    Sources: Zhang and Sennrich 2019, Root Mean Square Layer Normalization (gains start at 1).
    Since: 0.1.0
    """

    def fact(tensor: TensorScan) -> str | None:
        zero_norm = tensor.zero and not _is_bias(tensor)
        if _is_constant(tensor) and len(tensor.shape) == 1 and not zero_norm:
            return f"tensor {quoted(tensor.name)} has the same number in all its {tensor.shape[0]:,} elements"
        return None

    return _each(
        subject,
        "D005",
        fact,
        "check that it was trained, or waive D005 in the recipe and say why it was frozen",
    )


@rule("D006", "identical-tensors", severity=Severity.WARNING, level=Level.DEEP, needs=("scan",))
def identical(subject: Subject) -> Iterable[Finding]:
    """Two tensors hold the same bytes.

    What it does: Compares all tensors of one dtype and shape, byte for byte. Constant ones are left out:
        D002, D003 and D005 are about those.
    Why is this bad: No training ends there. One of the two was written under the name of the other, or a
        layer was copied to make up the number.
    Example: layers.4.mlp.up_proj.weight is layers.3.mlp.up_proj.weight.
    Use instead: Export again; waive D006 with the reason where layers really share their weights.
    Sources: safetensors documentation (shared tensors); Megatron-Bridge#919.
    Since: 0.1.0
    """
    assert subject.scan is not None
    for first, *rest in subject.scan.identical:
        others = ", ".join(quoted(name) for name in rest[:3]) + (" and others" if len(rest) > 3 else "")
        message = f"tensor {quoted(first)} has the same bytes as {others}"
        hint = "export again: one of them was written under another's name"
        yield Finding(message, hint, Where(subject.scan.tensors[first].file, tensor=first))


@rule("D007", "untrained", level=Level.DEEP, needs=("scan",))
def untrained(subject: Subject) -> Iterable[Finding]:
    """Most matrices are as they are initialised: nobody trained this draft.

    What it does: Looks at the beginning of every matrix of 65,536 numbers or more, for a normal distribution
        with the config's initializer_range (0.02 if it states none) as standard deviation, and for the
        uniform one of torch.nn.Linear; fires when most matrices fit. A stand-in says what it is (D004) and
        is left out.
    Why is this bad: The draft serves at an accept length of 1, and every check of names and shapes passes.
    Example: The export ran on a model that was built from the config, before the weights were loaded.
    Use instead: Export the trained weights.
    Sources: vllm-project/speculators#1114; SpecForge#645; torch.nn.init.kaiming_uniform_.
    Since: 0.1.0
    """
    fresh, matrices = _fresh(subject)
    if matrices and 2 * len(fresh) > matrices:
        tensor, how = fresh[0]
        count = f"{len(fresh)} of {matrices} matrices"
        message = f"{count} look freshly initialised ({how}), e.g. {quoted(tensor.name)}"
        yield Finding(message, "export the trained weights", Where(tensor.file, tensor=tensor.name))


@rule("D008", "untrained-tensor", severity=Severity.WARNING, level=Level.DEEP, needs=("scan",))
def untrained_tensor(subject: Subject) -> Iterable[Finding]:
    """A matrix among trained ones is as it is initialised.

    What it does: As D007, for single matrices of a draft most of whose matrices do not look so.
    Why is this bad: A tensor that was lost in a rename is written from a fresh model, with the right name and
        shape. Acceptance falls to 1 if it is fc, and by a part if it is in one layer.
    Example: fc.weight is normal with a standard deviation of 0.0200, and no other matrix is.
    Use instead: Look the tensor up in the training checkpoint, under its name there.
    Sources: vllm-project/speculators#1114 and #1131; TorchSpec#38.
    Since: 0.1.0
    """
    fresh, matrices = _fresh(subject)
    for tensor, how in fresh if 2 * len(fresh) <= matrices else ():
        message = f"tensor {quoted(tensor.name)} looks freshly initialised ({how})"
        hint = "compare it with the training checkpoint"
        yield Finding(message, hint, Where(tensor.file, tensor=tensor.name))


@rule("D009", "norm-implausible", severity=Severity.WARNING, level=Level.DEEP, needs=("scan",))
def norm_implausible(subject: Subject) -> Iterable[Finding]:
    """The weights of a norm are far from any that training ends with.

    What it does: Looks at vectors whose name says norm, for a magnitude above 1,000, for none above 0.0001,
        and for weights that are all negative.
    Why is this bad: A norm scales a whole layer. Such weights come from bytes in another dtype or order, or
        from a run that diverged.
    Example: norm.weight reaches 3e38.
    Use instead: An earlier checkpoint of the run, or a new export.
    Sources: Zhang and Sennrich 2019, Root Mean Square Layer Normalization (gains start at 1).
    Since: 0.1.0
    """

    def fact(tensor: TensorScan) -> str | None:
        if len(tensor.shape) != 1 or "norm" not in tensor.name or tensor.zero or tensor.nan or tensor.inf:
            return None
        if tensor.low is None or tensor.high is None:
            return None
        size = max(abs(tensor.low), abs(tensor.high))
        if size > 1000 or size < 1e-4 or tensor.high < 0:
            return f"tensor {quoted(tensor.name)} goes from {tensor.low:.4g} to {tensor.high:.4g}"
        return None

    return _each(subject, "D009", fact, "compare it with the training checkpoint")


@rule("D020", "coarse-numbers", severity=Severity.WARNING, level=Level.DEEP, needs=("scan",))
def coarse_numbers(subject: Subject) -> Iterable[Finding]:
    """All numbers of a matrix fit a smaller dtype.

    What it does: Counts the lowest mantissa bits that no number of a matrix uses: 4 of bfloat16 (all fit
        8-bit floats), 16 of float32 (all are bfloat16), 13 of float32 (all fit float16).
    Why is this bad: The weights went through the smaller dtype on their way and lost what it cannot hold; or
        the file is larger than it need be.
    Example: A bfloat16 draft that was exported from its FP8 copy.
    Use instead: One cast, from the master weights of the training run.
    Sources: sgl-project/SpecForge#890; the bits of the formats.
    Since: 0.1.0
    """
    smaller = {("BF16", 4): "an 8-bit float", ("F32", 16): "bfloat16", ("F32", 13): "float16"}

    def fact(tensor: TensorScan) -> str | None:
        if len(tensor.shape) < 2 or tensor.constant:
            return None
        for (dtype, bits), name in smaller.items():
            if tensor.dtype == dtype and tensor.spare_bits >= bits:
                return f"all numbers of tensor {quoted(tensor.name)} fit {name}"
        return None

    return _each(subject, "D020", fact, "export again, with one cast from the master weights")


def _fresh(subject: Subject) -> tuple[list[tuple[TensorScan, str]], int]:
    """The matrices that look freshly initialised, each with the distribution in words, and how many matrices
    there were to look at."""
    assert subject.scan is not None
    if subject.checkpoint is not None and STANDIN_KEY in subject.checkpoint.metadata:
        return [], 0
    stated = subject.layout.config.get("initializer_range")
    scale = float(stated) if isinstance(stated, int | float) and stated else 0.02
    sampled = [tensor for tensor in subject.scan.tensors.values() if tensor.sample is not None]
    found = [(tensor, how) for tensor in sampled if (how := _initialised(tensor, scale))]
    return found, len(sampled)


def _initialised(tensor: TensorScan, scale: float) -> str:
    """The distribution that the tensor looks initialised with, or "". The bounds are four standard errors of
    65,536 numbers, and half a percent for rounding to bfloat16."""
    sample = tensor.sample
    if sample is None or tensor.low is None or tensor.high is None:
        return ""
    centred = abs(sample.mean) < 4 * sample.std / 256
    if centred and abs(sample.std - scale) < 0.016 * scale and abs(sample.kurtosis - 3) < 0.08:
        return f"normal, std {sample.std:.4f}"
    bound = 1 / math.sqrt(tensor.shape[-1])  # of torch.nn.Linear: 1 / sqrt(fan in)
    reached = all(abs(abs(end) - bound) < 0.01 * bound for end in (tensor.low, tensor.high))
    if centred and reached and abs(sample.kurtosis - 1.8) < 0.03:
        return f"uniform, up to {bound:.4f}"
    return ""


def _each(
    subject: Subject, code: str, fact: Callable[[TensorScan], str | None], hint: str
) -> Iterable[Finding]:
    """One finding for every tensor that ``fact`` says something of; the many of a ruined file are counted,
    not listed. Vocabulary maps hold no trained numbers and have rules of their own."""
    found: dict[str, Findings] = {}
    for tensor in subject.scan.tensors.values() if subject.scan else ():
        if not is_map(tensor.name) and (said := fact(tensor)) is not None:
            found.setdefault(tensor.file, Findings(tensor.file)).add(code, said, hint, tensor=tensor.name)
    return (finding for each in found.values() for finding in each.result())


def _is_constant(tensor: TensorScan) -> bool:
    return tensor.constant and any(length > 1 for length in tensor.shape)


def _is_bias(tensor: TensorScan) -> bool:
    return tensor.name.endswith(".bias")
