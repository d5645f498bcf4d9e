"""The generator of flag snapshots: each layout, what ships, and that what is not known is an error."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from tests.engines import releases
from zoo.engines.extract import GENERATOR, LayoutError, extract
from zoo.engines.options import Option, as_text, snapshot, snapshots
from zoo.errors import UnreadableError, UsageError

WHEELS = os.environ.get("ZOO_ENGINE_WHEELS")


def by_name(options: tuple[Option, ...]) -> dict[str, Option]:
    return {each.names[0]: each for each in options}


def test_a_dataclass_layout_gives_every_argument_and_its_details(tmp_path: Path) -> None:
    found = extract("sglang", releases.folder(tmp_path, releases.SGLANG_DATACLASS))
    assert (found.version, found.generator) == ("1.0", GENERATOR)
    assert "sglang" not in sys.modules
    assert found.options == (
        Option(("--model-path", "--model"), "model_path", type="str", required=True),
        Option(("--tensor-parallel-size", "--tp-size"), "tp_size", type="int", default=1),
        Option(("--dtype",), "dtype", type="str", choices=("auto", "fp8", "bf16"), default="auto"),
        Option(("--sizes",), "sizes", type="int", nargs="+"),
        Option(("--side",), "side", type="str", choices=("left", "right"), default="left"),
        Option(("--extra",), "extra", type="json"),
        Option(("--trust",), "trust", kind="flag", default=False),
        Option(("--quick", "--no-quick"), "quick", kind="toggle", negative=("--no-quick",)),
        Option(("--parser",), "parser", type="str", choices=("auto", "kimi", "qwen")),
        Option(("--mode",), "mode", type="str", choices=("none", "all"), default="left"),
        Option(("--tp-old",), "tp_size", type="int", deprecated="use --tp-size"),
    )


def test_a_struct_layout_is_read_in_the_order_of_the_constructor(tmp_path: Path) -> None:
    found = extract("sglang", releases.wheel(tmp_path / "sglang-2.0.whl", releases.SGLANG_STRUCTS))
    assert [each.names[0] for each in found.options] == ["--algorithm", "--steps", "--again"]
    assert found.options[1] == Option(("--steps",), "steps", type="int")
    assert found.source == "sglang-2.0.whl"


def test_vllm_derives_arguments_from_types_and_customises_them(tmp_path: Path) -> None:
    found = extract("vllm", releases.folder(tmp_path, releases.VLLM))
    options = by_name(found.options)
    assert options["model_tag"].positional
    assert options["--origins"].nargs is None
    assert options["--tool-call-parser"].known == ("kimi_k2",)
    size = options["--block-size"]
    assert (size.names, size.choices, size.type) == (("--block-size", "-b"), (8, 16, None), "optional[int]")
    toggle = options["--enable-cache"]
    assert toggle.names == ("--enable-cache", "--no-enable-cache", "--disable-cache")
    assert toggle.negative == ("--no-enable-cache", "--disable-cache")
    assert options["--extra"].type == "optional[json]"
    assert (options["--nested"].type, options["--nested"].default) == ("object_suffixed", "...")
    assert (options["--layers"].type, options["--layers"].nargs) == ("str", "+")


@pytest.mark.parametrize(
    ("old", "new", "place", "what"),
    [
        ('"Side."]', 'Arg(help="S", magic=1)]', "server_args.py:", "magic"),
        ("type_parser=json.loads", "type_parser=json.dumps", "server_args.py:", "json.dumps"),
        ("class ServerArgs:", "class Arguments:", "server_args.py", "ServerArgs"),
        ("choices=CHOICES", "choices=choices_of(machine)", "server_args.py:", "choices_of"),
        ("DeprecatedAliasStoreAction,\n", "RemovedAction,\n", "server_args.py:", "RemovedAction"),
        ("    known = ", "    if gpu():\n            parser.add_argument('--x')\n        known = ",
         "server_args.py:", "gpu"),
        ("list(Parsers.TABLE.keys())", "list(Parsers.OTHER.keys())", "server_args.py:", "OTHER"),
        ('"--mode",', '"--parser",', "server_args.py:", "--parser is registered twice"),
        ("    known = ", "    with x:\n            pass\n        known = ", "server_args.py:", "with x"),
    ],
)  # fmt: skip
def test_an_unknown_layout_names_its_file_and_place(
    tmp_path: Path, old: str, new: str, place: str, what: str
) -> None:
    source = releases.SERVER_ARGS.replace(old, new)
    assert source != releases.SERVER_ARGS
    files = releases.SGLANG_DATACLASS | {"sglang/srt/server_args.py": source}
    with pytest.raises(LayoutError) as raised:
        extract("sglang", releases.folder(tmp_path, files))
    assert place in raised.value.message
    assert what in raised.value.message
    assert "zoo/engines/extract/" in raised.value.hint


def test_a_module_that_is_gone_and_text_that_is_no_python_are_unknown_layouts(tmp_path: Path) -> None:
    files = {name: text for name, text in releases.SGLANG_DATACLASS.items() if "server_args" not in name}
    with pytest.raises(LayoutError, match=r"no module sglang\.srt\.server_args"):
        extract("sglang", releases.folder(tmp_path / "a", files))
    broken = releases.SGLANG_DATACLASS | {"sglang/srt/server_args.py": "class :"}
    with pytest.raises(LayoutError, match=r"server_args\.py:1: not Python"):
        extract("sglang", releases.folder(tmp_path / "b", broken))


def test_a_file_that_is_no_release_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="does not exist"):
        extract("sglang", tmp_path / "missing.whl")
    (tmp_path / "x.whl").write_text("no zip")
    with pytest.raises(UnreadableError, match="is no wheel"):
        extract("sglang", tmp_path / "x.whl")
    with pytest.raises(UnreadableError, match='0 packages named "sglang"'):
        extract("sglang", releases.folder(tmp_path / "v", releases.VLLM))
    with pytest.raises(UsageError, match="no generator reads"):
        extract("tgi", tmp_path)


@pytest.mark.parametrize(
    ("engine", "version", "names", "options", "deprecated"),
    [("sglang", "0.5.14", 433, 420, 23), ("sglang", "0.5.23", 559, 531, 6), ("vllm", "0.33.0", 484, 321, 3)],
)
def test_what_ships_has_the_counts_of_the_engines_own_parsers(
    engine: str, version: str, names: int, options: int, deprecated: int
) -> None:
    """Counted once in the real ArgumentParsers of the three wheels, -h and --help left out."""
    held = snapshot(engine, version)
    assert held is not None
    assert held.generator == GENERATOR
    spelled = [name for each in held.options for name in each.names if each.names != ("model_tag",)]
    assert len(spelled) == len(set(spelled)) == names - (engine == "vllm")
    assert len(held.options) == options
    assert sum(each.deprecated is not None for each in held.options) == deprecated


def test_parsers_of_answers_are_resolved_to_their_names() -> None:
    old, new = snapshot("sglang", "0.5.14"), snapshot("sglang", "0.5.23")
    assert old is not None
    assert new is not None
    for flag in ("--tool-call-parser", "--reasoning-parser"):
        before, after = old.exact(flag), new.exact(flag)
        assert before is not None
        assert after is not None
        assert "kimi_k2" in (before.choices or ())
        assert set(after.choices or ()) - set(before.choices or ()) >= {"kimi_k3"}


@pytest.mark.skipif(WHEELS is None, reason="ZOO_ENGINE_WHEELS names no folder with the released wheels")
@pytest.mark.parametrize("pin", snapshots())
def test_the_released_wheels_give_what_ships(pin: tuple[str, str]) -> None:
    held = snapshot(*pin)
    assert held is not None
    assert as_text(extract(pin[0], Path(str(WHEELS)) / held.source)) == as_text(held)


def test_a_source_that_is_no_text_a_device_and_a_bomb_are_refused(tmp_path: Path) -> None:
    folder = releases.folder(tmp_path / "a", releases.SGLANG_DATACLASS)
    (folder / "sglang/srt/server_args.py").write_bytes(b"x = '\xff'\n")
    with pytest.raises(UnreadableError, match=r"server_args\.py.* is not UTF-8 \(byte 5\)"):
        extract("sglang", folder)
    (folder / "sglang/srt/server_args.py").unlink()
    (folder / "sglang/srt/server_args.py").symlink_to("/dev/zero")
    with pytest.raises(UnreadableError, match="not a regular file"):
        extract("sglang", folder)
    with pytest.raises(UnreadableError, match="is no file but a device"):
        extract("sglang", Path("/dev/zero"))
    bomb = tmp_path / "sglang.whl"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("sglang-1.0.0.dist-info/METADATA", "Name: sglang\nVersion: 1.0.0\n")
        archive.writestr("sglang/srt/server_args.py", b" " * (64 * 1024 * 1024 + 1))
    with pytest.raises(UnreadableError, match=r"server_args\.py.* more than 64 MiB"):
        extract("sglang", bomb)
