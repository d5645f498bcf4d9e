"""Finding launch commands: what a shell would make of the text, on which line, whatever the text is."""

from __future__ import annotations

import random
import time

import pytest

from zoo.engines.commands import Command, find
from zoo.engines.shellwords import read


def words(text: str) -> list[list[str]]:
    return [[word.text for word in simple.words] for simple in read(text).commands]


def only(text: str, file: str = "x.sh") -> Command:
    (command,) = find(text, file).commands
    return command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a \\\n  b\nc", [["a", "b"], ["c"]]),
        ("a \\\r\n  b", [["a", "b"]]),
        ("a#b # c\nd", [["a#b"], ["d"]]),
        ("a \\\n# b\n--c", [["a"], ["--c"]]),
        ("a;b&&c||d|e&f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a > log 2>&1 < in b", [["a", "b"]]),
        ("a &> log b", [["a", "b"]]),
        ("a 8 >x", [["a", "8"]]),
        ('a "$(b "c)" d)" e', [["a", '$(b "c)" d)', "e"]]),
        ("a $((1 + 2)) ${B:-c d} `e f` $g", [["a", "$((1 + 2))", "${B:-c d}", "`e f`", "$g"]]),
        ("A=(b c) d", [["A=(b c)", "d"]]),
        ("cat <<E\nb c\nE\nd", [["cat"], ["b", "c"], ["d"]]),
        ("cat <<-'E'\n\tb\n\tE\nd", [["cat"], ["b"], ["d"]]),
        ("a '' \"\"", [["a", "", ""]]),
        ("a <your model> --x=<n>", [["a", "<your model>", "--x=<n>"]]),
        ("", []),
    ],
)
def test_text_is_split_as_a_shell_splits_it(text: str, expected: list[list[str]]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "lines"), [("a 'b", (1,)), ('a\n"b', (2,)), ("a $(b", (1,)), ("a `b", (1,)), ("a <<E\nb", (2,))]
)
def test_what_is_never_closed_is_said_with_its_line(text: str, lines: tuple[int, ...]) -> None:
    assert read(text).unclosed == lines


def test_variables_are_left_as_they_are_written_and_marked() -> None:
    (simple,) = read("a $b \"$c d\" '$e' \\$f").commands
    assert [(word.text, word.symbolic, word.split) for word in simple.words[1:]] == [
        ("$b", True, True),
        ("$c d", True, False),
        ("$e", False, False),
        ("$f", False, False),
    ]


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("python -m sglang.launch_server --x", "python -m sglang.launch_server --x"),
        ("/opt/venv/bin/python3.12 -u -m sglang.launch_server --x", None),
        ("python3 /src/sglang/launch_server.py --x", None),
        ("/opt/bin/sglang serve --x", None),
        ("vllm serve m --x", None),
        ("python -m vllm.entrypoints.openai.api_server --x", None),
        ("A=1 nohup env B=2 sglang serve --x &", "sglang serve --x"),
        ("if true; then exec sglang serve --x; fi", "sglang serve --x"),
        ("time numactl -N 0 uv run sglang serve --x | tee log", "sglang serve --x"),
        ("ssh host 'cd /x'; bash -c 'sh -c \"sglang serve --x\"'", "sglang serve --x"),
    ],
)
def test_a_server_is_found_whatever_starts_it(text: str, argv: str | None) -> None:
    assert " ".join(only(text).argv) == (argv or text)


@pytest.mark.parametrize(
    "text",
    [
        "python -m sglang.bench_serving --x",
        "pip install sglang vllm",
        "vllm bench serve --x",
        "echo 'sglang serve --x'",
        "# sglang serve --x",
        "docker build -t sglang .",
        "python train.py -m sglang.launch_server",
    ],
)
def test_other_commands_are_none_of_our_business(text: str) -> None:
    assert find(text, "x.sh").commands == ()


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("lmsysorg/sglang:v0.5.14", "0.5.14"),
        ("lmsysorg/sglang:v0.5.15.post1-cu130", "0.5.15.post1"),
        ("registry.example:5000/lmsysorg/sglang:0.5.23", "0.5.23"),
        ("lmsysorg/sglang:latest", None),
        ("lmsysorg/sglang", None),
        ("nvcr.io/nvidia/sglang:25.10-py3", None),
        ("org/tools:v1.2.3", None),
    ],
)
def test_the_tag_of_an_image_tells_the_version_or_nothing(image: str, version: str | None) -> None:
    assert only(f"docker run {image} sglang serve --x").version == version


def test_the_environment_of_a_command_and_of_its_script() -> None:
    found = find("export A=1\nB=2 docker run -e C=3 --env=D=4 -e E lmsysorg/sglang sglang serve --x", "x.sh")
    (command,) = found.commands
    assert [(name, word.text) for name, word in command.environment] == [("B", "2"), ("C", "3"), ("D", "4")]
    assert [(name, word.text, word.line) for name, word in found.assignments] == [("A", "1", 1)]


def test_every_word_has_its_line() -> None:
    command = only("x\nsglang serve \\\n  --a \\\n  'b\nc' d")
    assert command.line == 2
    assert [word.line for word in command.arguments] == [3, 4, 5]


@pytest.mark.parametrize(
    "text",
    [
        "$(" * 50_000,
        '"$(' * 30_000,
        "a=(" * 30_000,
        "<a" * 50_000,
        "<<A\n" * 20_000,
        "`" * 100_001,
        "\\" * 100_001,
        "```\n" * 20_000,
        "vllm serve x\n" * 5_000,
        "sglang serve\n" + "--tp\n" * 20_000,
        "bash -c " * 10_000,
        "docker run -e " * 10_000,
        "python -x " * 10_000,
    ],
    ids=lambda text: repr(text[:16]),
)
def test_no_text_takes_longer_than_its_length(text: str) -> None:
    started = time.process_time()
    find(text, "x.sh")
    find(text, "x.md")
    assert time.process_time() - started < 10  # a second, on a machine that does nothing else


def test_random_text_always_has_an_answer() -> None:
    pieces = [
        "sglang serve",
        "docker run",
        "bash -c",
        "--tp",
        "$X",
        "${",
        "}",
        "$(",
        ")",
        "`",
        "'",
        '"',
        "\\",
        "\n",
    ]
    pieces += [
        " ",
        "<<E\n",
        "E\n",
        "#",
        ";",
        "|",
        ">",
        "<",
        "<x>",
        "```\n",
        "$ ",
        "> ",
        "=",
        "\x00",
        "\x1b[31m",
        "é",
    ]
    draw = random.Random(1)
    for _ in range(2_000):
        text = "".join(draw.choice(pieces) for _ in range(draw.randint(1, 40)))
        for command in (*find(text, "x.sh").commands, *find(text, "x.md").commands):
            assert 1 <= command.line <= text.count("\n") + 1
