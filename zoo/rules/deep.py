"""D rules: what the numbers in the weights show, from one pass over every byte (``zoo.checkpoint.scan``).

They know no reference: they find tensors that nobody trained or that training broke. Comparing with the
base draft is another group's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from zoo.checkpoint.collect import Findings
from zoo.checkpoint.maps import is_map
from zoo.printable import quoted
from zoo.results import Finding, Severity
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
