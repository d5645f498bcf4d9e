"""``zoo launch --check``: what a person sees, and what it refuses to look at."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Ran

Run = Callable[..., Ran]
KIMI = REPOSITORY / "tests" / "launch_commands" / "good" / "kimi-published.sh"
S14, S23 = ("--engine", "sglang==0.5.14"), ("--engine", "sglang==0.5.23")


def check(run_zoo: Run, file: str | Path, *args: str) -> Ran:
    return run_zoo("--zoo", REPOSITORY, "launch", "--check", file, *args)


def test_the_published_command_is_the_one_that_zoo_launch_prints(run_zoo: Run) -> None:
    assert run_zoo("--zoo", REPOSITORY, "launch", "kimi-ft-v3").out == KIMI.read_text()


def test_the_published_command_is_accepted_with_the_notes_that_apply(run_zoo: Run) -> None:
    ran = check(run_zoo, KIMI, *S14)
    assert ran.status == 0
    assert 'warning L008 command in line 1: "--tp" is no flag of SGLang 0.5.14' in ran.out
    assert f"at {KIMI}:14" in ran.out
    assert "E002 fa4-needs-bf16-kv: A bf16 KV cache is required" in ran.out
    assert "is over in" not in ran.out
    assert ran.out.splitlines()[-1].startswith("ok  ")


def test_a_newer_engine_says_what_is_over_and_which_flags_changed(run_zoo: Run) -> None:
    ran = check(run_zoo, KIMI, *S23, "--recipe", "kimi-ft-v3")
    assert ran.status == 0
    assert "E002 fa4-needs-bf16-kv (SGLang <0.5.16) is over in SGLang 0.5.23" in ran.out
    assert "--attention-backend: without cutlass_mla, dual_chunk_flash_attn" in ran.out
    assert "SGLang 0.5.23 scales cos and sin by 1;" in ran.out


def test_a_removed_flag_names_its_replacement(run_zoo: Run, tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text("sglang serve --model-path x --speculative-dflash-draft-window-size 512\n")
    ran = check(run_zoo, file, *S23)
    assert ran.status == 1
    assert 'no flag "--speculative-dflash-draft-window-size" (SGLang 0.5.14 has)' in ran.out
    assert "-> use --speculative-draft-window-size" in ran.out


def test_a_command_comes_from_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zoo", "launch", "--check", "-", *S14],
        input=b"sglang serve --model-path x --tp-sise 2\n",
        capture_output=True,
        check=False,
        cwd=REPOSITORY,
    )
    assert done.returncode == 1
    assert b"at standard input:1" in done.stdout
    assert b'Did you mean "--tp-size"?' in done.stdout


def test_what_a_text_holds_never_reaches_the_terminal_raw(run_zoo: Run, tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_bytes(b"sglang serve --model-path x --\x1b[31mred \xff\xe2\x80\xae $A\x07\n")
    ran = check(run_zoo, file, *S14)
    assert ran.status == 1
    assert not {"\x1b", "\u202e", "\x07"} & set(ran.out)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--check", "FILE", "kimi-ft-v3"], "--check takes no NAME"),
        (["--check", "FILE", "--port", "1"], "--check takes no --port"),
        (["--check", "FILE", "--recipe", "kimi-ft-v3", "--draft", "x"], "both say which draft"),
        (["--check", "FILE", "--engine", "sglang"], "known are sglang==0.5.14"),
        (["--check", "FILE", "--engine", "sglang==0.5.18"], "known are sglang==0.5.14"),
        (["--check", "FILE", *S14, "--draft", "nowhere"], "nowhere"),
        (["--check", "FILE", *S14, "--recipe", "nobody"], "nobody"),
        (["--check", "FILE"], "which version of sglang"),
        (["--check", "nowhere.sh", *S14], "nowhere.sh"),
        (["--check", "recipes", *S14], "is not a file"),
        (["--check", "pyproject.toml", *S14], "no launch command"),
        (["kimi-ft-v3", *S14], "need --check"),
        (["kimi-ft-v3", "--format", "text"], "need --check"),
        ([], "which draft?"),
    ],
)
def test_wrong_usage_is_exit_2_and_one_clear_message(
    run_zoo: Run, monkeypatch: pytest.MonkeyPatch, args: list[str], says: str
) -> None:
    monkeypatch.chdir(REPOSITORY)
    ran = run_zoo("launch", *[str(KIMI) if arg == "FILE" else arg for arg in args])
    assert ran.status == 2
    assert ran.out == ""
    assert says in ran.err
    assert "  -> " in ran.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x" * (256 * 1024 + 1), "more than 256 KiB"),
        ("sglang serve --model-path x\n" * 201, "more than 200 launch commands"),
        ("sglang serve --model-path " + "x " * 5_000, "more than 4000 words"),
        ("sglang serve --model-path " + "x" * 200_000, "a word of more than 128 KiB"),
    ],
    ids=["bytes", "commands", "words", "word"],
)
def test_a_flood_is_refused(run_zoo: Run, tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "run.sh"
    file.write_text(text)
    ran = check(run_zoo, file, *S14)
    assert ran.status == 2
    assert says in ran.err


def test_nested_json_is_refused_and_crashes_nothing(run_zoo: Run, tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    for value in ("[" * 50_000, '{"a":' * 20_000):
        file.write_text(f"vllm serve x --speculative-config '{value}'\n")
        assert check(run_zoo, file, "--engine", "vllm==0.33.0").status == 1
    file.write_text(f"vllm serve x --speculative-config{'.a' * 20_000} 1\n")
    assert check(run_zoo, file, "--engine", "vllm==0.33.0").status == 1


def test_an_engine_that_is_not_that_of_the_tag_is_said(run_zoo: Run) -> None:
    file = REPOSITORY / "tests" / "launch_commands" / "good" / "grouped-options-of-docker.sh"
    says = "judged as SGLang 0.5.23, but the tag of its image says 0.5.14"
    assert says in check(run_zoo, file, *S23).out
    assert "the tag of its image" not in check(run_zoo, file).out


def test_a_credential_by_its_flag_is_not_shown(run_zoo: Run, tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text("sglang serve --model-path x --api-k=open-sesame\n--admin-api-key=open-sesame\n")
    ran = check(run_zoo, file, *S14)
    assert ran.status == 1
    assert ran.out.count("error L011") == 2
    assert "open-sesame" not in ran.out + ran.err
