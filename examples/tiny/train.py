"""Train the tiny pair: target, base draft, fine-tuned draft. One command: python examples/tiny/train.py

The order is that of a real draft release. A target exists; a base draft was trained on general text (a
quarter of it agent conversations); the release fine-tunes that draft on agent text and ships it. All runs
are seeded, and each stage starts from the bf16 file that the stage before it wrote, so the files are what
was trained on and what is measured.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import safetensors
import tokenizers
import torch
import transformers
from data import training_stream
from measure import measure
from model import Config, DFlashDraft, aux_hidden_states, draft_config, load_draft, save_draft
from reference import load_target
from tokenizer import ASSISTANT_ID, END_ID, MASK_ID, TOOL_ID, USER_ID, VOCAB_SIZE, encode, train_tokenizer
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

HERE = Path(__file__).parent
RUN = "tiny-ft"
SEQUENCE_LENGTH = 256
BATCH_SIZE = 12
ANCHORS = 20  # blocks trained in each sequence
TARGET_STEPS, BASE_STEPS, FT_STEPS = 260, 240, 80
HELD_OUT_PROMPTS, HELD_OUT_TOKENS = 12, 48
HOW_MEASURED = (
    "measure.py --domain agent: reference loop in fp32 on the CPU, batch 1, each output ended by <|end|> "
    "or the token limit; 1 + correct drafts / verify steps over all prompts"
)
CODE = ("data.py", "measure.py", "model.py", "reference.py", "tokenizer.py", "train.py")
FILES = ("base/model.safetensors", "target/model.safetensors", "target/tokenizer.json")


def batches(tokenizer: Any, seed: int, agent_share: float) -> Iterator[Tensor]:
    """Endless token batches [BATCH_SIZE, SEQUENCE_LENGTH]; every sequence starts with a user message."""
    stream = training_stream(seed, agent_share)
    while True:
        rows = []
        for _ in range(BATCH_SIZE):
            row: list[int] = []
            while len(row) < SEQUENCE_LENGTH:
                row += encode(tokenizer, next(stream))
            rows.append(row[:SEQUENCE_LENGTH])
        yield torch.tensor(rows)


def optimise(model: nn.Module, losses: Iterator[Tensor], steps: int, peak: float, name: str) -> None:
    """Take `steps` AdamW steps on a one-cycle schedule, one for each loss that `losses` yields."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, betas=(0.9, 0.95), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, peak, total_steps=steps, pct_start=0.1)
    for step, loss in enumerate(itertools.islice(losses, steps)):
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 40 == 0 or step == steps - 1:
            print(f"{name} step {step} loss {loss.item():.3f}", flush=True)


def train_target(folder: Path) -> None:
    """Train tokenizer and target on both domains in equal parts and write them to `folder`."""
    corpus = itertools.islice(training_stream(seed=1, agent_share=0.5), 2000)
    tokenizer = train_tokenizer(message["content"] for messages in corpus for message in messages)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    model: Any = Qwen3ForCausalLM(Qwen3Config(
        vocab_size=VOCAB_SIZE, hidden_size=128, intermediate_size=256, num_hidden_layers=4,
        num_attention_heads=8, num_key_value_heads=2, head_dim=64, max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, tie_word_embeddings=False,
        bos_token_id=None, eos_token_id=END_ID, pad_token_id=END_ID,
    ))  # fmt: skip
    data = batches(tokenizer, seed=2, agent_share=0.5)
    optimise(model, (model(ids, labels=ids).loss for ids in data), TARGET_STEPS, 4e-3, "target")
    model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        eos_token_id=END_ID, pad_token_id=END_ID
    )
    model.to(torch.bfloat16).save_pretrained(folder)


def assistant_tokens(ids: Tensor) -> Tensor:
    """Where `ids` [B, T] belong to an assistant turn: True [B, T]. Only those are ever drafted."""
    starts = (ids == USER_ID) | (ids == ASSISTANT_ID) | (ids == TOOL_ID)
    latest = (torch.arange(ids.shape[1]) * starts).cummax(dim=1).values
    return ids.gather(1, latest) == ASSISTANT_ID


def block_loss(draft: DFlashDraft, target: Any, ids: Tensor) -> Tensor:
    """The draft's loss on `ids` [B, T]: cross entropy over random blocks of assistant tokens.

    All blocks of a sequence share one forward. The mask lets a query see the context strictly before its
    anchor and its own block, which is what it will see when the block is drafted alone.
    """
    batch, length = ids.shape
    size = draft.block_size
    with torch.no_grad():
        hidden_states = target.model(ids, output_hidden_states=True).hidden_states
        aux = aux_hidden_states(hidden_states, draft.target_layer_ids)
    possible = assistant_tokens(ids)[:, : length - size + 1].float()
    anchors = torch.multinomial(possible, ANCHORS)
    places = (anchors[..., None] + torch.arange(size)).flatten(1)
    labels = ids.gather(1, places).view(batch, ANCHORS, size)
    blocks = torch.full_like(labels, draft.mask_token_id)
    blocks[..., 0] = labels[..., 0]

    owner = torch.arange(ANCHORS).repeat_interleave(size)
    before = torch.arange(length) < anchors.repeat_interleave(size, dim=1)[..., None]
    same = (owner[:, None] == owner).expand(batch, -1, -1)
    mask = torch.cat((before, same), dim=-1)[:, None]
    positions = torch.cat((torch.arange(length).expand(batch, -1), places), dim=1)

    hidden = draft(target.get_input_embeddings()(blocks.flatten(1)), aux, positions, mask)
    logits = target.lm_head(hidden.view(batch, ANCHORS, size, -1)[:, :, 1:])
    each = cross_entropy(logits.flatten(0, 2), labels[..., 1:].flatten(), reduction="none")
    # A token counts only if all before it were accepted, so early positions weigh more, as in DFlash.
    weight = torch.exp(-torch.arange(size - 1) / 4)
    loss: Tensor = (each.view(-1, size - 1) * weight).mean(0).sum() / weight.sum()
    return loss


def train_draft(
    draft: DFlashDraft, folder: Path, agent_share: float, steps: int, seed: int, peak: float
) -> None:
    """Train `draft` against the frozen target beside `folder` and write it to `folder`."""
    target = load_target(folder.parent / "target")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder.parent / "target")
    torch.manual_seed(seed)
    data = batches(tokenizer, seed, agent_share)
    optimise(draft.train(), (block_loss(draft, target, ids) for ids in data), steps, peak, folder.name)
    save_draft(draft, folder)


def manifest(out: Path) -> Config:
    """The training manifest of the fine-tuned draft: what was trained, from which bytes, how it measures."""
    last_step = BASE_STEPS + FT_STEPS - 1  # zero-based, counted across base and fine-tuning
    result = measure(out / RUN, out / "target", "agent", HELD_OUT_PROMPTS, HELD_OUT_TOKENS, temperature=0.0)
    inputs = {name: HERE / name for name in CODE} | {name: out / name for name in FILES}
    return {
        "schema": "training-manifest/1",
        "run": RUN,
        "iteration": last_step + 1,
        "step": last_step,
        "config": json.loads((out / RUN / "config.json").read_text()),
        "rope_amplitude": 1.0,
        "held_out": {
            "accept_length": round(result["accept_length"], 4),
            "temperature": 0,
            "prompts": HELD_OUT_PROMPTS,
            "max_new_tokens": HELD_OUT_TOKENS,
            "how": f"{HOW_MEASURED} ({result['correct_drafts']} / {result['verify_steps']})",
        },
        "inputs": [
            {"name": name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
            for name, path in inputs.items()
        ],
        "versions": {
            "python": platform.python_version(),
            "safetensors": safetensors.__version__,
            "tokenizers": tokenizers.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE, metavar="DIR", help="default: beside this file")
    out: Path = parser.parse_args().out
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    # The sum order of a matrix product depends on the thread count, so the bytes do too.
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True)
    train_target(out / "target")
    torch.manual_seed(3)
    fresh = DFlashDraft(draft_config(json.loads((out / "target/config.json").read_text()), MASK_ID))
    train_draft(fresh, out / "base", agent_share=0.25, steps=BASE_STEPS, seed=3, peak=4e-3)
    base = load_draft(out / "base")
    train_draft(base, out / RUN, agent_share=0.85, steps=FT_STEPS, seed=4, peak=2e-3)
    (out / f"{RUN}.training.json").write_text(json.dumps(manifest(out), indent=2) + "\n")


if __name__ == "__main__":
    main()
