"""The card of kimi-ft-v3 holds every fact of the published one."""

from __future__ import annotations

import re

import pytest

from zoo.card.render import render_card
from zoo.recipe.load import usable_recipe
from zoo.workspace import Zoo

FACTS = [
    # What it is, and why
    "# Kimi-K2.7-Code-DFlash, Hex fine-tune (kimi-ft-v3)",
    "This is a draft for speculative decoding, not a standalone model.",
    "mredmond/Kimi-K2.7-Code-DFlash-kimi-ft-v3",
    "draft for moonshotai/Kimi-K2.7-Code, served as nvidia/Kimi-K2.7-Code-NVFP4",
    "fine-tuned from NVIDIA's stock DFlash draft on 3,071 real agent-harness conversations of Hex's "
    "coding agent",
    "stock draft is trained on generic text",
    "large system prompts, notebook and schema context, and long tool-call exchanges",
    "output-lossless",
    "the draft changes speed only",
    # Headline results
    "Conversation-paired, 28-29 held-out conversations x 3-6 repeats, against the stock draft",
    "Verified warm caches, single-container servers, stall-robust decode TPS",
    "Accept-length advantage at every concurrency, +2-13% at concurrency 2-8",
    "TPS speed-up concentrates at low concurrency",
    "+106% paired decode TPS at concurrency 1. (reported by the author)",
    "| Accept length | +2-13% | stock draft | concurrency 2-8, temperature 1.0 | reported by the author |",
    "| Decode TPS | +106% | AQ-MedAI/Kimi-K2.7-Code-eagle3 | concurrency 1, temperature 1.0 | "
    "reported by the author |",
    # Serving
    "SGLang 0.5.14, 8 x B200",
    "python -m sglang.launch_server --model-path nvidia/Kimi-K2.7-Code-NVFP4 --speculative-algorithm DFLASH "
    "--speculative-draft-model-path mredmond/Kimi-K2.7-Code-DFlash-kimi-ft-v3 "
    "--speculative-dflash-block-size 8 "
    "--speculative-draft-attention-backend fa4 --attention-backend trtllm_mla --kv-cache-dtype bf16 "
    "--moe-runner-backend flashinfer_trtllm --mem-fraction-static 0.85 --tool-call-parser kimi_k2 "
    "--reasoning-parser kimi_k2 --trust-remote-code --tp 8",
    "Profile sglang-0.5.14-b200x8 is not checked: no record that it ever ran",
    # Notes
    "bf16 KV cache is required, since the draft worker inherits the global KV dtype and its fa4 "
    "kernel asserts bf16 "
    "q/k/v, which also rules out the fp8-only tokenspeed_mla target backend: use trtllm_mla.",
    "Do not pass --quantization: the draft worker copies the target's server args, and an explicit "
    "modelopt_fp4 makes "
    "SGLang quantize the bf16 draft on the fly; left unset, the target detects NVFP4 from its own "
    "hf_quant_config.json",
    "--speculative-draft-model-quantization unquant",
    "SGLang <0.5.16: A bf16 KV cache",
    "Block size 8 is the native block size",
    "The YaRN amplitude (the factor on cos and sin) depends on the engine version",
    "as trained: unknown; as read: 1.4159 in SGLang <0.5.16; 1.0 in SGLang >=0.5.16, vLLM 0.33.0 and "
    "transformers",
    # Training
    "target's intermediate hidden states (6 aux layers x 7,168)",
    "Fine-tuning helps most at deep block positions, which gate whole-block acceptance",
    "Exported from iter_0000384 (step 383)",
    "Provenance (input hashes, version pins) is in the run manifest",
    "| Run manifest | unknown |",
    "| Hidden states from | unknown |",
    "repository: unknown",
    # Files
    "| model.safetensors | 69 tensors, bf16, ~7.0 GB (6,958,554,112 bytes); same architecture as the "
    "base draft (by the author, not compared): "
    "6 layers, hidden 7168, YaRN rope; embed_tokens and lm_head borrowed from the target at serving time |",
    "| config.json | unchanged from the base draft |",
    "| tech-report.pdf | technical report (July 2026) |",
    # Caveats
    "Tuned for Hex agent traffic. On generic text expect stock behaviour, not gains.",
    "Evaluated at temperature 1.0 with ignore_eos on held-out conversations that were collected against the "
    "stock-draft server; if anything, a bias against the fine-tune.",
    # Config of the architecture, assumed
    "64 heads, 8 KV heads, head_dim 128 (assumed)",
    "| Intermediate size | 18432 (assumed) |",
    "| Vocabulary | 163840 (assumed) |",
    "| Mask token | 163838 (assumed) |",
    "1, 12, 24, 35, 47, 58 of 61: 6 x 7,168 hidden (id k is the output of layer k) (assumed)",
    "| RMS norm eps | 1e-5 (assumed) |",
    "theta 50000; yarn factor 64, mscale 1.0, mscale_all_dim 1.0, beta 32/1, original positions 4096 "
    "(assumed)",
    "| Max positions | 262144 (assumed) |",
    "| Block size | 8 (7 proposals per verify step) |",
    "a public copy of the same architecture, since the stock draft's own config was not available",
    # What nobody knows or has checked, and what a number means
    "moonshotai/Kimi-K2.7-Code), revision unknown",
    "| Static | the checkpoint | not checked |",
    "| Replay | recorded target states | not checked |",
    "| Served | SGLang 0.5.14 on 8 x B200, target revision unknown | not checked |",
    "Accept length is 1 + correct drafts / verify steps",
    "the bonus token included",
    "Version 1.0.0 of mredmond/Kimi-K2.7-Code-DFlash-kimi-ft-v3 (not released yet).",
    "(rule E001 of draft-zoo; [sgl-project/sglang#31232]",
    "Licence of this draft: unknown",
]


@pytest.fixture(scope="module")
def card() -> str:
    from tests.conftest import REPOSITORY
    from zoo.workspace import find_zoo

    zoo = find_zoo(REPOSITORY)
    return render_card(zoo, usable_recipe(zoo, "kimi-ft-v3"))


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact[:50])
def test_every_fact_of_the_published_card_is_on_the_rendered_one(card: str, fact: str) -> None:
    assert fact in _words(card)


def test_the_first_line_after_the_metadata_says_that_it_is_no_standalone_model(card: str) -> None:
    body = card.split("---\n", 2)[2].strip()
    assert "not a standalone model" in body.splitlines()[0]


def test_the_metadata_is_exactly_what_the_hub_needs(card: str) -> None:
    from ruamel.yaml import YAML

    data = YAML(typ="safe").load(card.split("---\n")[1])
    assert data == {
        "license": "unknown",
        "library_name": "sglang",
        "tags": [
            "speculative-decoding",
            "draft-model",
            "dflash",
            "sglang",
            "kimi-k2.7-code",
            "hex",
            "kimi-k2",
        ],
    }


def test_the_card_prints_no_null_and_no_python(card: str) -> None:
    assert not re.search(r"\b(None|null|nan|True|False)\b|\{\{|\}\}|<built-in|Undefined", card)


def test_the_card_is_the_same_every_time(here: Zoo, card: str) -> None:
    assert render_card(here, usable_recipe(here, "kimi-ft-v3")) == card


def test_the_committed_card_is_up_to_date(here: Zoo, card: str) -> None:
    committed = here.release_folder("kimi-ft-v3", "1.0.0") / "README.md"
    assert committed.read_text(encoding="utf-8") == card


def _words(card: str) -> str:
    """The card as it reads: without emphasis, code marks and the line ends of the command."""
    return " ".join(re.sub(r"[*`]|\\\n|\\(?=[^\w\s])", "", card).split())
