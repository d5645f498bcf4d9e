"""Recording the tiny target and importing dumps: the states are those of the model, token for token."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY, Ran

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")

from zoo.replay import record as recorder  # noqa: E402
from zoo.replay.trace import DamagedTraceError, Trace, open_trace  # noqa: E402

pytestmark = pytest.mark.torch
Run = Callable[..., Ran]
TARGET = REPOSITORY / "examples" / "tiny" / "target"
NEW, BEYOND = 8, 3
USER, ASSISTANT = 1, 2
LINES: list[dict[str, Any]] = [
    {"name": "short", "input_ids": [USER, 90, 91, 0, ASSISTANT]},
    {
        "name": "chat",
        "messages": [{"role": "user", "content": "Show 5 orders where plan is team, newest first."}],
    },
    {"name": "given", "input_ids": [USER, 80, 0, ASSISTANT], "continuation_ids": [70, 71, 72, 73]},
    {"name": "story", "domain": "story", "text": "<|user|>Tell me a story about a fox.<|end|><|assistant|>"},
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    # Matrices this small gain nothing from threads, and on a busy machine threads wait for each other.
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("conversations") / "c.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


@pytest.fixture(scope="module")
def model() -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(TARGET, dtype=torch.float32).eval().requires_grad_(False)


@pytest.fixture
def run(run_zoo: Run, conversations: Path) -> Run:
    """``zoo trace tiny`` over the conversations of this module, in fp32, two at once."""

    def run(out: Path, *more: str | Path) -> Ran:
        args = ("--conversations", conversations, "--out", out, "--max-new-tokens", NEW, "--batch", 2)
        args = (*args, "--beyond", BEYOND)
        return run_zoo("trace", "tiny", *args, "--dtype", "float32", *more)

    return run


@pytest.fixture
def trace(run: Run, tmp_path: Path) -> Trace:
    ran = run(tmp_path / "whole", "--neighbours")
    assert ran.status == 0, ran.err
    return open_trace(tmp_path / "whole")


def test_the_states_are_those_of_transformers_and_the_tokens_the_greedy_ones(
    trace: Trace, model: Any
) -> None:
    assert trace.layers == (-1, 0, 1, 2, 3)
    assert [each.domain for each in trace.conversations] == ["main", "main", "main", "story"]
    assert torch.equal(trace.embed(dtype=torch.float32), model.model.embed_tokens.weight)
    assert torch.equal(trace.lm_head(dtype=torch.float32), model.lm_head.weight)
    for each in trace.conversations:
        tokens = each.tokens
        assert tokens.shape == (each.length,)
        output = model(tokens[None], output_hidden_states=True)
        states = each.states((0, 1, 2), "cpu", torch.float32)
        assert states.shape == (each.length, 3, 128)
        for at in range(3):
            torch.testing.assert_close(states[:, at], output.hidden_states[at + 1][0], atol=1e-4, rtol=1e-4)
        last = each.states((-1, 3), "cpu", torch.float32)
        torch.testing.assert_close(last[:, 0], output.hidden_states[0][0])
        # transformers gives the last layer's output normed; the trace has what the layer itself gives.
        torch.testing.assert_close(
            model.model.norm(last[:, 1]), output.hidden_states[4][0], atol=1e-4, rtol=1e-4
        )
        final = each.final("cpu", torch.float32)
        torch.testing.assert_close(final, output.hidden_states[-1][0], atol=1e-4, rtol=1e-4)
        logits = final @ trace.lm_head("cpu", torch.float32).T
        torch.testing.assert_close(logits, output.logits[0], atol=1e-3, rtol=1e-3)
        assert each.length == each.end + BEYOND
        best = logits[each.prompt_length - 1 : -1].argmax(-1)
        continuation = tokens[each.prompt_length : each.end]
        assert each.greedy == int((best[: len(continuation)] == continuation).sum())
        assert torch.equal(best[-BEYOND:], tokens[each.end :])
        if each.name == "given":
            assert (each.temperature, continuation.tolist()) == (None, [70, 71, 72, 73])
        else:
            assert (each.temperature, len(continuation)) == (0, NEW)
            assert torch.equal(best, tokens[each.prompt_length :])


def test_a_continuation_ends_with_its_end_token_unless_told_otherwise(run: Run, tmp_path: Path) -> None:
    assert run(tmp_path / "ends", "--max-new-tokens", "120", "--top", "1").status == 0
    assert run(tmp_path / "on", "--max-new-tokens", "120", "--top", "1", "--ignore-eos").status == 0
    ends, on = (open_trace(tmp_path / name).conversations[-1] for name in ("ends", "on"))
    assert ends.end < on.end == on.prompt_length + 120
    assert (ends.length, on.length) == (ends.end + BEYOND, on.end + BEYOND)
    assert ends.tokens[ends.end - 1] == 0
    assert 0 not in ends.tokens[ends.prompt_length : ends.end - 1]
    assert torch.equal(on.tokens[: ends.length], ends.tokens)


def test_bf16_is_the_default_and_half_the_size(run_zoo: Run, conversations: Path, tmp_path: Path) -> None:
    args = ("--conversations", conversations, "--max-new-tokens", NEW, "--layers", "2,0", "--top", 1)
    ran = run_zoo("trace", "tiny", *args, "--out", tmp_path / "half")
    assert ran.status == 0
    assert "2 layers and the final state of 128 in BF16" in ran.err
    trace = open_trace(tmp_path / "half")
    assert (trace.index["dtype"], trace.index["how"]["compute_dtype"], trace.layers) == (
        "BF16",
        "F32",
        (0, 2),
    )
    one = trace.conversations[0]
    in_order = one.states((2, 0), "cpu", torch.bfloat16)
    assert torch.equal(in_order[:, 0], one.states((2,), "cpu", torch.bfloat16)[:, 0])
    with pytest.raises(Exception, match="no states after layer 1; it has those after 0, 2"):
        one.states((0, 1), "cpu", torch.bfloat16)


def test_a_killed_recording_goes_on_and_gives_the_same_trace(
    run: Run, trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = []
    whole = recorder._Runner.run

    def killed(self: Any, work: Any, asked: Any) -> None:
        if batches:
            raise KeyboardInterrupt
        batches.append(asked)
        whole(self, work, asked)

    monkeypatch.setattr(recorder._Runner, "run", killed)
    assert run(tmp_path / "whole2", "--neighbours").status == 130
    shards = sorted(path.name for path in (tmp_path / "whole2" / "shards").iterdir())
    assert shards == ["00000.safetensors", "00001.safetensors"]
    monkeypatch.setattr(recorder._Runner, "run", whole)
    refused = run(tmp_path / "whole2")
    assert refused.status == 2
    assert "layers differ" in refused.err
    assert run(tmp_path / "whole2", "--neighbours").status == 0
    again = open_trace(tmp_path / "whole2").index
    assert {**again, "name": ""} == {**trace.index, "name": ""}


def test_a_head_that_does_not_give_the_models_logits_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = recorder._lm_head
    monkeypatch.setattr(recorder, "_lm_head", lambda *args: 2 * head(*args))
    ran = run(tmp_path / "scaled")
    assert ran.status == 2
    assert "logits are not final state x lm_head" in ran.err
    assert not (tmp_path / "scaled").exists()


def test_a_changed_state_is_found_when_it_is_read(trace: Trace) -> None:
    path = trace.conversations[0].file.path
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1  # the last bytes are those of the final states
    path.write_bytes(damaged)
    one = open_trace(trace.folder).conversations[0]
    one.states((0,), "cpu", torch.float32)
    with pytest.raises(DamagedTraceError, match="tensor final is not the one that was recorded"):
        one.final("cpu", torch.float32)


def test_messages_that_the_template_refuses_are_a_bad_line(run_zoo: Run, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"messages": [{"role": "system", "content": "a"}]}))
    ran = run_zoo("trace", "tiny", "--conversations", path, "--out", tmp_path / "out")
    assert ran.status == 2
    assert f"{path}:1: the chat template refuses the messages" in ran.err


# Imports: what a trainer's dump of the same conversation looks like.


def dump(trace: Trace, name: str, layout: str) -> dict[str, Any]:
    """The conversation ``name`` as a trainer writes it."""
    one = next(each for each in trace.conversations if each.name == name)
    states = one.states((0, 1, 2), "cpu", torch.float32).flatten(1)
    mask = torch.ones(one.length, dtype=torch.int64)
    mask[: one.prompt_length] = 0
    mask[one.end :] = 0
    tensors = {"input_ids": one.tokens, "loss_mask": mask}
    final = one.final("cpu", torch.float32)
    if layout == "specforge-eagle3":
        return tensors | {"aux_hidden_state": states[None], "hidden_state": final[None]}
    if layout == "specforge-dspark":
        return tensors | {"hidden_states": states, "target_last_hidden_states": final}
    if layout == "apart":
        apart = {f"hidden_states.{at}": states[:, at * 128 : (at + 1) * 128] for at in range(3)}
        return tensors | {key: value.contiguous() for key, value in apart.items()} | {"final": final}
    assert layout == "specforge-dflash"
    return tensors | {"hidden_states": states}


def imported(run_zoo: Run, path: Path, out: Path, *more: str) -> Ran:
    return run_zoo(
        "trace", "tiny", "--import", path, "--layers", "0,1,2", "--dtype", "float32", "--out", out, *more
    )


@pytest.mark.parametrize("layout", ["specforge-eagle3", "specforge-dspark", "apart"])
@pytest.mark.parametrize("suffix", [".ckpt", ".safetensors"])
def test_a_dump_gives_the_trace_that_a_recording_gives(
    run_zoo: Run, trace: Trace, tmp_path: Path, layout: str, suffix: str
) -> None:
    from safetensors.torch import save_file

    (tmp_path / "dump" / "rows").mkdir(parents=True)
    path = tmp_path / "dump" / "rows" / f"data_0{suffix}"
    tensors = dump(trace, "chat", layout)
    torch.save(tensors, path) if suffix == ".ckpt" else save_file(tensors, path)
    ran = imported(run_zoo, tmp_path / "dump", tmp_path / "out")
    assert ran.status == 0, ran.err
    ours, theirs = open_trace(tmp_path / "out").conversations[0], trace.conversations[1]
    assert (ours.prompt_length, ours.temperature, ours.greedy) == (theirs.prompt_length, None, theirs.greedy)
    assert ours.end == ours.length == theirs.end
    assert torch.equal(ours.tokens, theirs.tokens[: ours.end])
    states = [each.states((0, 1, 2), "cpu", torch.float32)[: ours.end] for each in (ours, theirs)]
    assert torch.equal(*states)
    final = [each.final("cpu", torch.float32)[: ours.end] for each in (ours, theirs)]
    assert torch.equal(*final)


def test_a_dump_without_final_states_needs_the_targets_own_tokens(
    run_zoo: Run, trace: Trace, tmp_path: Path
) -> None:
    path = tmp_path / "data.ckpt"
    torch.save(dump(trace, "chat", "specforge-dflash"), path)
    ran = imported(run_zoo, path, tmp_path / "out")
    assert ran.status == 2
    assert "has no final states" in ran.err
    assert not (tmp_path / "out").exists()
    assert imported(run_zoo, path, tmp_path / "out", "--own-tokens").status == 0
    opened = open_trace(tmp_path / "out")
    assert (opened.has_final, opened.conversations[0].temperature) == (False, 0)
    with pytest.raises(Exception, match="no final states"):
        opened.conversations[0].final("cpu", torch.float32)


def test_final_states_that_do_not_predict_the_tokens_are_refused(
    run_zoo: Run, trace: Trace, tmp_path: Path
) -> None:
    tensors = dump(trace, "chat", "specforge-dspark")
    tensors["target_last_hidden_states"] = tensors["target_last_hidden_states"].roll(1, 0)
    torch.save(tensors, tmp_path / "shifted.pt")
    ran = imported(run_zoo, tmp_path / "shifted.pt", tmp_path / "out", "--own-tokens")
    assert ran.status == 2
    assert "tokens are the first choice" in ran.err
    assert not (tmp_path / "out").exists()


def test_only_the_last_supervised_run_is_the_continuation(run_zoo: Run, trace: Trace, tmp_path: Path) -> None:
    tensors = dump(trace, "chat", "specforge-dspark")
    mask = torch.zeros_like(tensors["loss_mask"])
    mask[3:5] = 1
    mask[-6:-2] = 1
    torch.save(tensors | {"loss_mask": mask}, tmp_path / "turns.pt")
    assert imported(run_zoo, tmp_path / "turns.pt", tmp_path / "out").status == 0
    one = open_trace(tmp_path / "out").conversations[0]
    assert (one.prompt_length, one.length) == (len(mask) - 6, len(mask) - 2)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"hidden_states": torch.zeros(5, 384)}, "the states has the shape"),
        ({"hidden_states": torch.zeros(32, 4, 128)}, "as speculators writes them"),
        ({"input_ids": torch.full((5,), 600)}, "has the token 600"),
        ({"input_ids": torch.zeros(5)}, "not whole numbers"),
        ({"loss_mask": torch.ones(3)}, "loss_mask has 3 entries"),
        ({"loss_mask": None}, "nobody knows the continuation"),
        ({"hidden_states": None}, "has no states"),
        ({"target_last_hidden_states": torch.zeros(5, 3)}, "target_last_hidden_states has the shape"),
    ],
)
def test_another_layout_is_refused_by_name(
    run_zoo: Run, trace: Trace, tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    tensors = dump(trace, "chat", "specforge-dspark") | changed
    path = tmp_path / "data.pt"
    torch.save({name: value for name, value in tensors.items() if value is not None}, path)
    ran = imported(run_zoo, path, tmp_path / "out")
    assert ran.status == 2
    assert said in ran.err
    assert not (tmp_path / "out").exists()


class Opens:
    """A pickle that runs code when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (open, (str(self.path), "w"))


def test_a_torch_file_that_needs_code_is_refused_and_runs_none(run_zoo: Run, tmp_path: Path) -> None:
    torch.save({"input_ids": Opens(tmp_path / "ran")}, tmp_path / "data.pt")
    ran = imported(run_zoo, tmp_path / "data.pt", tmp_path / "out")
    assert ran.status == 2
    assert "not a torch file that holds only tensors" in ran.err
    assert not (tmp_path / "ran").exists()
