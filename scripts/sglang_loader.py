"""What the real draft classes of SGLang do with each tensor of a draft, on CPU.

Builds the class that SGLang itself chooses for each folder, from the folder's config.json, with every
parameter filled with a sentinel, lets it load the folder, and reports which parameters changed and which
tensor did it. Nothing here knows names, shapes or keys of any draft: the engine's code decides all of that.
docs/loader.md says how to install it and what was learnt.

    python scripts/sglang_loader.py FOLDER ...

A tensor that holds one positive number (scripts/loader_sample.py writes such folders) must have it for
itself: that number, found in a parameter, says who filled it, also inside fused parameters. A tensor of
several values is looked for as a whole. One JSON object per folder:

    error        "Type: message" of whatever stopped the engine, or null
    parameters   engine parameter -> "filled", "partly" or "untouched"; {} after an error, like all the rest
    consumed     tensors whose values are in the model at the end
    ignored      tensors that never came into the model
    overwritten  tensors that came in and were replaced by a later one
    cut          tensors of which only a part came in: name -> [elements taken, elements]
    padded       parameters that the loader filled up with zeros of its own: name -> [zeros, elements]
    replaced     parameters that the worker replaces with the target's after loading
    warnings     log lines of level warning or above while loading
    reads        config values as the engine holds them

What is real: ServerArgs, the process groups (gloo, one process), ModelConfig with its config parser and its
dtype rule, the registry of architectures, the draft class, the reader of safetensors, ``load_weights``.

What is stubbed, and why the loader does not notice:
  - the C++ operators of torchvision are declared without code (the PyPI build does not load beside a CPU-only
    torch); SGLang imports torchvision for other models;
  - ``vllm._custom_ops.rotary_embedding``, which SGLang's rotary embedding imports outside CUDA and calls in
    the forward pass only;
  - ``torch.cuda.synchronize``, which ``set_embed`` calls after it replaced the parameter.
Not run: the workers (block size, mask token and layer ids against the target, attention backends), tp > 1,
and any forward pass. Which of ``set_embed`` and ``set_embed_and_head`` is called is decided here as in
``init_lm_head`` of speculative/eagle_worker_v2.py.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

SENTINEL = -1.0
TORCHVISION_OPERATORS = (
    "nms qnms roi_align _roi_align_backward ps_roi_align _ps_roi_align_backward roi_pool _roi_pool_backward "
    "ps_roi_pool _ps_roi_pool_backward qroi_align deform_conv2d _deform_conv2d_backward"
).split()
# What a draft's config says, as the engine's config object holds it after parsing.
CONFIG_KEYS = (
    "architectures model_type hidden_size intermediate_size num_hidden_layers num_attention_heads "
    "num_key_value_heads head_dim attention_bias hidden_act rms_norm_eps rope_parameters "
    "max_position_embeddings layer_types sliding_window vocab_size draft_vocab_size tie_word_embeddings "
    "target_hidden_size"
).split()


@cache
def engine() -> types.SimpleNamespace:
    """SGLang, imported once and set up as for one process on the CPU."""
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for operator in TORCHVISION_OPERATORS:
        library.define(f"{operator}() -> ()")
    from sglang.srt.configs.load_config import LoadConfig
    from sglang.srt.configs.model_config import ModelConfig
    from sglang.srt.distributed import parallel_state
    from sglang.srt.layers.dp_attention import initialize_dp_attention
    from sglang.srt.model_loader import loader
    from sglang.srt.model_loader.utils import set_default_torch_dtype
    from sglang.srt.models.registry import ModelRegistry
    from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler
    from sglang.srt.speculative.dflash_utils import parse_dflash_draft_config

    arguments = ServerArgs(model_path="none", device="cpu")
    arguments.device = "cuda"  # Latent attention would take the rotary embedding of CPUs, which wants YaRN.
    set_global_server_args_for_scheduler(arguments)
    meeting = Path(tempfile.mkdtemp()) / "meeting"
    parallel_state.init_distributed_environment(
        backend="gloo", world_size=1, rank=0, local_rank=0, distributed_init_method=f"file://{meeting}"
    )
    parallel_state.initialize_model_parallel(backend="gloo")
    # It asks the config for a hidden size only, for buffers of data-parallel attention.
    initialize_dp_attention(
        arguments, types.SimpleNamespace(hf_config=None, hidden_size=0, dtype=torch.bfloat16)
    )
    ModelRegistry.get_supported_archs()
    # Only now: models that import vllm for real must find that it is not here.
    operators = types.ModuleType("vllm._custom_ops")
    operators.rotary_embedding = None  # type: ignore[attr-defined]
    sys.modules |= {"vllm": types.ModuleType("vllm"), "vllm._custom_ops": operators}
    torch.cuda.synchronize = lambda *_: None  # type: ignore[assignment]
    return types.SimpleNamespace(
        torch=torch,
        library=library,
        loader=loader,
        load_config=LoadConfig(),
        model_config=ModelConfig,
        default_dtype=set_default_torch_dtype,
        parse_dflash=parse_dflash_draft_config,
    )


def load(folder: Path) -> dict[str, Any]:
    """What the engine does with the draft in ``folder`` (see above).

    Raises:
        ValueError: two tensors of the folder hold the same number.
    """
    tensors = _tensors(folder)
    engine()  # Outside of what is caught below: a failing set-up is no verdict.
    report: dict[str, Any] = {
        "error": None,
        **{key: {} for key in ("parameters", "cut", "padded", "reads")},
        **{key: [] for key in ("consumed", "ignored", "overwritten", "replaced", "warnings")},
    }
    try:
        report |= _load(folder, tensors)
    except Exception as error:
        if traceback.extract_tb(error.__traceback__)[-1].filename == __file__:
            raise  # A mistake of this script is no verdict of the engine.
        message = " ".join(str(error).split()).replace(str(folder), "FOLDER")
        report["error"] = f"{type(error).__name__}: {message}"
    return report


def _tensors(folder: Path) -> dict[str, tuple[Any, float | None]]:
    """The tensors, each with the number that it holds, or None."""
    from safetensors.torch import load_file

    found: dict[str, tuple[Any, float | None]] = {}
    for file in folder.glob("*.safetensors"):
        for name, tensor in load_file(file).items():
            values = set(tensor.float().flatten().tolist())
            found[name] = tensor, values.pop() if len(values) == 1 and min(values) > 0 else None
    numbers = [number for _, number in found.values() if number is not None]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{folder}: two tensors hold the same number")
    return found


def _load(folder: Path, tensors: dict[str, tuple[Any, float | None]]) -> dict[str, Any]:
    sglang = engine()
    torch = sglang.torch
    config = sglang.model_config(str(folder), is_draft_model=True, trust_remote_code=False)
    quantization = sglang.loader._get_quantization_config(config, sglang.load_config)
    reader = sglang.loader.DefaultModelLoader(sglang.load_config)
    with sglang.default_dtype(config.dtype), torch.device("cpu"):
        model = sglang.loader._initialize_model(config, sglang.load_config, quantization)
    for parameter in model.parameters():
        parameter.data.fill_(SENTINEL)
    seen: set[str] = set()

    def watched() -> Iterator[tuple[str, Any]]:
        for name, tensor in reader._get_all_weights(config, model):
            yield name, tensor
            # The class has dealt with the tensor when it asks for the next one.
            if _taken(model, *tensors[name]):
                seen.add(name)

    with _Warnings() as warnings:
        reader.load_weights_and_postprocess(model, watched(), torch.device("cpu"))
    taken = {name: _taken(model, *tensor) for name, tensor in tensors.items()}
    consumed = sorted(name for name, count in taken.items() if count)
    return {
        "parameters": {name: _state(parameter) for name, parameter in model.named_parameters()},
        "consumed": consumed,
        "overwritten": sorted(seen - set(consumed)),
        "ignored": sorted(set(tensors) - set(consumed) - seen),
        "cut": {
            name: [taken[name], tensors[name][0].numel()]
            for name in consumed
            if taken[name] < tensors[name][0].numel()
        },
        "padded": {name: [zeros, parameter.numel()] for name, parameter, zeros in _zeros(model) if zeros},
        "warnings": warnings.lines,
        "reads": _reads(model, config),
        "replaced": _replaced(model),
    }


def _taken(model: Any, tensor: Any, number: float | None) -> int:
    """How many elements of ``tensor`` the model holds. The offsets of a reduced vocabulary (``hot_token_id``)
    are no parameter: the class keeps them with 0, 1, 2 ... added."""
    torch = engine().torch
    offsets = getattr(model, "hot_token_id", None)
    if offsets is not None and torch.equal(offsets - torch.arange(len(offsets)), tensor):
        return int(tensor.numel())
    if number is None:
        return int(tensor.numel()) * any(torch.equal(parameter, tensor) for parameter in model.parameters())
    return sum(int((parameter == number).sum()) for parameter in model.parameters())


def _state(parameter: Any) -> str:
    untouched = int((parameter == SENTINEL).sum())
    return "filled" if not untouched else "untouched" if untouched == parameter.numel() else "partly"


def _zeros(model: Any) -> Iterator[tuple[str, Any, int]]:
    for name, parameter in model.named_parameters():
        yield name, parameter, int((parameter == 0).sum())


def _replaced(model: Any) -> list[str]:
    """The parameters that are the target's after the worker's ``init_lm_head``."""
    if not hasattr(model, "set_embed"):
        return []
    torch = engine().torch
    before = dict(model.named_parameters())
    embed, head = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    if getattr(model, "load_lm_head_from_target", False):
        model.set_embed_and_head(embed, head)
    else:
        model.set_embed(embed)
    return sorted(name for name, parameter in model.named_parameters() if parameter is not before.get(name))


def _reads(model: Any, config: Any) -> dict[str, Any]:
    """The config as the engine holds it. ``dflash`` is what parse_dflash_draft_config makes of it."""
    held = {key: getattr(config.hf_config, key) for key in CONFIG_KEYS if hasattr(config.hf_config, key)}
    held |= {"dtype": str(config.dtype).removeprefix("torch."), "class": type(model).__name__}
    if hasattr(model, "num_context_features"):
        parsed = engine().parse_dflash(draft_hf_config=config.hf_config)
        layers = parsed.num_target_layers or parsed.num_hidden_layers
        held["dflash"] = {
            "block_size": model.block_size,
            "context_features": model.num_context_features,
            "target_layer_ids": parsed.resolve_target_layer_ids(target_num_layers=layers),
            "num_target_layers": parsed.num_target_layers,
            "mask_token": parsed.mask_token,
            "mask_token_id": parsed.mask_token_id,
        }
    elif hasattr(model.model, "num_aux_hidden_states"):
        held["eagle3"] = {
            "aux_hidden_states": model.model.num_aux_hidden_states,
            "fc": list(model.model.fc.weight.shape),
            "fc_norm": model.model.fc_norm is not None,
            "norm_output": model.model.norm_output,
            "head_from_target": model.load_lm_head_from_target,
            "vocabulary_map": model.hot_token_id is not None,
        }
    return dict(sorted(held.items()))


class _Warnings(logging.Handler):
    """Collects what SGLang logs at level warning or above."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def __enter__(self) -> _Warnings:
        logging.getLogger("sglang").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("sglang").removeHandler(self)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("give one or more folders, each with config.json and model.safetensors")
    print(json.dumps({folder: load(Path(folder)) for folder in sys.argv[1:]}, indent=1))
