"""The command line: what each verb prints, where, and with which exit status."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import REPOSITORY, Ran
from zoo import __version__
from zoo.cli import VERBS
from zoo.rules import RULES
from zoo.schemas import schema
from zoo.workspace import Zoo

Run = Callable[..., Ran]
KIMI_COMMAND = (
    "python -m sglang.launch_server --model-path nvidia/Kimi-K2.7-Code-NVFP4 --speculative-algorithm DFLASH "
    "--speculative-draft-model-path mredmond/Kimi-K2.7-Code-DFlash-kimi-ft-v3 "
    "--speculative-dflash-block-size 8 --speculative-draft-attention-backend fa4 "
    "--attention-backend trtllm_mla --kv-cache-dtype bf16 --moe-runner-backend flashinfer_trtllm "
    "--mem-fraction-static 0.85 --tool-call-parser kimi_k2 --reasoning-parser kimi_k2 "
    "--trust-remote-code --tp 8"
)


def kimi(run_zoo: Run, *args: str) -> Ran:
    return run_zoo("--zoo", REPOSITORY, *args)


def test_help_names_every_verb(run_zoo: Run) -> None:
    ran = run_zoo("--help")
    assert ran.status == 0
    assert all(verb in ran.out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(run_zoo: Run, verb: str) -> None:
    ran = run_zoo(verb, "--help")
    assert ran.status == 0
    assert "Usage: zoo" in ran.out


def test_version(run_zoo: Run) -> None:
    assert run_zoo("--version").out == f"zoo, version {__version__}\n"


def test_a_misspelt_verb_gets_the_closest_one(run_zoo: Run) -> None:
    ran = run_zoo("verfy")
    assert ran.status == 2
    assert 'Did you mean "verify"?' in ran.err


def test_the_kimi_command_is_exactly_the_published_one(run_zoo: Run) -> None:
    shown = kimi(run_zoo, "launch", "kimi-ft-v3")
    assert shown.out.replace(" \\\n ", "").rstrip("\n") == KIMI_COMMAND
    as_json = json.loads(kimi(run_zoo, "launch", "kimi-ft-v3", "--format", "json").out)
    assert as_json["argv"] == KIMI_COMMAND.split()


def test_launch_takes_host_and_port_and_other_models(run_zoo: Run) -> None:
    ran = kimi(
        run_zoo, "launch", "kimi-ft-v3", "--host", "0.0.0.0", "--port", "30000", "--draft", "/my drafts/x"
    )
    assert ran.out.rstrip().endswith("--host 0.0.0.0 \\\n  --port 30000")
    assert "--speculative-draft-model-path '/my drafts/x'" in ran.out


def test_launch_of_an_unknown_profile_names_the_known_ones(run_zoo: Run) -> None:
    ran = kimi(run_zoo, "launch", "kimi-ft-v3", "--profile", "sglang-0.5.14-b200")
    assert ran.status == 2
    assert "sglang-0.5.14-b200x8" in ran.err


def test_verify_with_an_unreachable_source_is_exit_2_with_the_next_action(run_zoo: Run) -> None:
    ran = kimi(run_zoo, "verify", "kimi-ft-v3")
    assert ran.status == 2
    assert "could not check" in ran.out
    assert "--checkpoint FOLDER" in ran.out


def test_verify_as_json_is_a_zoo_report(run_zoo: Run) -> None:
    ran = kimi(run_zoo, "verify", "kimi-ft-v3", "--format", "json")
    report = json.loads(ran.out)
    Draft202012Validator(schema("zoo-report-1")).validate(report)
    assert report["exit"] == ran.status == 2
    assert {result["code"] for result in report["results"]} <= set(RULES)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["verify"], "which draft?"),
        (["verify", "nothing"], "no recipe"),
        (["verify", "./nothing"], "does not exist"),
        (["verify", "kimi-ft-v3", "--checkpoint", "nowhere"], "does not exist"),
        (["verify", "kimi-ft-v3", "--checkpoint", "README.md"], "not a folder"),
        (["verify", "kimi-ft-v3", "--all"], "--all"),
        (["verify", "./x", "--checkpoint", "./x"], "is a source itself"),
        (["verify", "./x", "--base", "./y"], "zoo diff ./y ./x"),
        (["show", "nothing"], "no recipe"),
        (["rule", "Z999"], "no rule"),
        (["launch", "kimi-ft-v3", "--port", "0"], "--port"),
    ],
)
def test_wrong_usage_is_exit_2_and_one_clear_message(
    run_zoo: Run, monkeypatch: pytest.MonkeyPatch, args: list[str], says: str
) -> None:
    monkeypatch.chdir(REPOSITORY)
    ran = run_zoo(*args)
    assert ran.status == 2
    assert ran.out == ""
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_outside_a_zoo_the_message_says_how_to_make_one(run_zoo: Run, tmp_path: Path) -> None:
    ran = run_zoo("--zoo", tmp_path, "list")
    assert ran.status == 2
    assert "not inside a zoo" in ran.err
    assert "zoo init" in ran.err


def test_init_makes_a_zoo_whose_recipe_verifies_on_its_own_standin(
    run_zoo: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_zoo("init", "my-zoo", "--recipe", "first").status == 0
    monkeypatch.chdir("my-zoo")
    assert "first" in run_zoo("list").out
    assert run_zoo("standin", "first", "--out", tmp_path / "standin").status == 0
    ran = run_zoo("verify", "first", "--checkpoint", tmp_path / "standin")
    assert ran.status == 0, ran.out
    assert "25 tensors, BF16" in ran.out
    assert "\nfamily: dflash\n" in ran.out


def test_init_writes_schemas_that_editors_find(new_zoo: Zoo) -> None:
    first = (new_zoo.recipes / "example-draft.yaml").read_text().splitlines()[0]
    relative = first.partition("$schema=")[2]
    assert json.loads((new_zoo.recipes / relative).read_text()) == schema("recipe-1")


def test_a_clone_without_the_schemas_gets_them_with_the_next_recipe(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path
) -> None:
    """``.zoo`` is not in git, and the first line of each recipe names a file in there."""
    draft = tmp_path / "draft"
    assert run_zoo("--zoo", new_zoo.root, "standin", "example-draft", "--out", draft).status == 0
    for name, command in (
        ("more", ("init", "--recipe", "more")),
        ("mine", ("adopt", draft, "--name", "mine")),
    ):
        shutil.rmtree(new_zoo.root / ".zoo")
        ran = run_zoo("--zoo", new_zoo.root, *command)
        assert ran.status == 0, ran.err
        recipe = new_zoo.root / "recipes" / f"{name}.yaml"
        first = recipe.read_text().splitlines()[0]
        assert (recipe.parent / first.partition("$schema=")[2]).is_file(), first
    kept = new_zoo.root / ".zoo" / "recipe-1.json"
    kept.write_text("mine")
    assert run_zoo("--zoo", new_zoo.root, "init", "--recipe", "third").status == 0
    assert kept.read_text() == "mine"


def test_init_says_how_to_gate_pull_requests(run_zoo: Run, tmp_path: Path) -> None:
    said = run_zoo("init", tmp_path / "zoo").err.splitlines()
    assert [line for line in said if "docs/ci.md" in line and "docs/example-zoo" in line]


def test_init_never_overwrites(run_zoo: Run, new_zoo: Zoo) -> None:
    before = (new_zoo.root / "zoo.toml").read_text()
    ran = run_zoo("init", new_zoo.root)
    assert ran.status == 2
    assert "exists already" in ran.err
    assert (new_zoo.root / "zoo.toml").read_text() == before


@pytest.mark.parametrize("name", ["../x", "A", "a/b", "", "x..y", ".x"])
def test_init_refuses_names_that_leave_the_folder(run_zoo: Run, tmp_path: Path, name: str) -> None:
    ran = run_zoo("init", tmp_path / "zoo", "--recipe", name) if name else Ran(2, "", "cannot be a name")
    assert ran.status == 2
    assert "cannot be a name" in ran.err
    assert not (tmp_path / "zoo").exists()


def test_list_and_show_tell_what_is_here(run_zoo: Run) -> None:
    rows = json.loads(kimi(run_zoo, "list", "--format", "json").out)["recipes"]
    assert {"kimi-ft-v3"} <= {row["name"] for row in rows}
    shown = kimi(run_zoo, "show", "kimi-ft-v3").out
    assert "69, bfloat16, 3,479,277,056 parameters, 6,958,554,112 bytes" in shown


def test_list_goes_on_past_a_broken_recipe(run_zoo: Run, new_zoo: Zoo) -> None:
    (new_zoo.recipes / "broken.yaml").write_text("recipe: [\n")
    ran = run_zoo("--zoo", new_zoo.root, "list")
    assert ran.status == 0
    assert "zoo verify broken" in ran.out
    assert "example-draft" in ran.out


def test_rule_explains_a_code_and_lists_all(run_zoo: Run) -> None:
    assert "What it does" in run_zoo("rule", "C021").out
    assert run_zoo("rule", "c021").out == run_zoo("rule", "aux-layers").out
    listed = run_zoo("rule").out
    assert all(code in listed for code in RULES)


def test_settings_with_a_misspelt_key_are_an_error_that_names_the_file(run_zoo: Run, new_zoo: Zoo) -> None:
    (new_zoo.root / "zoo.toml").write_text('publish = "dir:x"\n')
    ran = run_zoo("--zoo", new_zoo.root, "list")
    assert ran.status == 2
    assert "zoo.toml" in ran.err
    assert "publish_to" in ran.err


def test_ctrl_c_is_exit_130(run_zoo: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr("zoo.recipe.load.recipe_names", interrupt)
    monkeypatch.setattr("zoo.cli.list.recipe_names", interrupt, raising=False)
    assert kimi(run_zoo, "list").status == 130


def test_ctrl_c_where_python_hides_it_in_another_error_is_exit_130(
    run_zoo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> list[str]:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr("zoo.recipe.load.recipe_names", interrupt)
    monkeypatch.setattr("zoo.cli.list.recipe_names", interrupt, raising=False)
    ran = kimi(run_zoo, "list")
    assert (ran.status, ran.err) == (130, "zoo: interrupted\n")


@pytest.mark.parametrize("module", ["zoo.cli.failures", "zoo.cli.group", "click", "rich.table"])
def test_ctrl_c_while_the_tool_is_still_starting_is_exit_130_without_a_traceback(module: str) -> None:
    code = f"""
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from zoo.cli import main
main()
"""
    command = [sys.executable, "-c", code, "list"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert ran.returncode == 130
    assert "Traceback" not in ran.stderr


def test_the_command_starts_with_next_to_nothing_imported() -> None:
    code = "import sys; old = {*sys.modules}; import zoo.cli; print(*sorted({*sys.modules} - old))"
    ran = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=REPOSITORY)
    assert ran.stdout.split() == ["__future__", "zoo", "zoo.cli"]


def test_a_signal_handler_is_for_the_command_alone(run_zoo: Run) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    assert run_zoo("rule", "C021").status == 0
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == before


def test_a_closed_output_is_exit_2_and_one_message() -> None:
    command = f'"{sys.executable}" -m zoo rule >&-'
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert ran.returncode == 2
    assert ran.stderr == ("zoo: standard output is closed\n  -> send it to a file, or to /dev/null\n")


@pytest.mark.parametrize("option", [["--zoo", "."], ["--zoo=."]])
def test_zoo_after_the_command_is_told_where_it_belongs(run_zoo: Run, option: list[str]) -> None:
    ran = run_zoo("verify", "kimi-ft-v3", *option)
    assert ran.status == 2
    assert "No such option" in ran.err
    assert "--zoo goes before the command: zoo --zoo FOLDER COMMAND" in ran.err
    assert "goes before" not in run_zoo("verify", "kimi-ft-v3", "--zool").err


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f'"{sys.executable}" -m zoo rule | head -1; exit ${{PIPESTATUS[0]}}'
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert ran.returncode in (0, 141)
    assert ran.stderr == ""


@pytest.mark.parametrize(
    "args", [["--help"], ["rule", "C021"], ["verify", "tiny-ft"], ["launch", "kimi-ft-v3"], ["list"]]
)
def test_header_level_commands_import_neither_torch_nor_the_hub_client_nor_numpy(args: list[str]) -> None:
    heavy = {"torch", "transformers", "huggingface_hub", "numpy", "safetensors", "jinja2"}
    code = (
        f"import sys, zoo.cli; zoo.cli.run({args!r}); print({heavy!r} & sys.modules.keys(), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY,
        env=os.environ,
    )
    assert ran.stderr.strip().endswith("set()")


def test_launch_says_on_stderr_what_is_wrong_with_the_command(run_zoo: Run, new_zoo: Zoo) -> None:
    profile = new_zoo.recipes / "profiles" / "sglang-0.5.14-example.yaml"
    profile.write_text(profile.read_text().replace("block-size 8", "block-size 16"))
    ran = run_zoo("--zoo", new_zoo.root, "launch", "example-draft")
    assert ran.status == 1
    assert "L001" in ran.err
    assert "--speculative-dflash-block-size 16" in ran.out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("args:\n", "args:\n  - --api-key open-sesame\n"),
        ("args:\n", "environment: {MY_API_KEY: open-sesame}\nargs:\n"),
    ],
)
def test_launch_prints_no_command_with_a_credential(run_zoo: Run, new_zoo: Zoo, old: str, new: str) -> None:
    profile = new_zoo.recipes / "profiles" / "sglang-0.5.14-example.yaml"
    profile.write_text(profile.read_text().replace(old, new))
    for form in ("shell", "json"):
        ran = run_zoo("--zoo", new_zoo.root, "launch", "example-draft", "--format", form)
        assert ran.status == 1
        assert ran.out == ""
        assert "L011" in ran.err
        assert "open-sesame" not in ran.err


def test_launch_of_kimi_prints_its_hazard_beside_the_command(run_zoo: Run) -> None:
    ran = kimi(run_zoo, "launch", "kimi-ft-v3")
    assert ran.status == 0
    assert "E001" in ran.err
    assert "E001" not in ran.out


def test_init_that_fails_leaves_nothing_behind(
    run_zoo: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []

    def full_after_two(path: Path, data: bytes) -> None:
        if len(written) == 2:
            raise OSError(28, "No space left on device", str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        written.append(path)

    monkeypatch.setattr("zoo.atomic.write_atomically", full_after_two)
    ran = run_zoo("init", tmp_path / "new" / "zoo")
    assert ran.status == 2
    assert "No space left" in ran.err
    assert len(written) == 2
    assert not (tmp_path / "new").exists()


def test_init_keeps_a_gitignore_that_is_there(run_zoo: Run, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    assert run_zoo("init", tmp_path).status == 0
    assert (tmp_path / ".gitignore").read_text() == "mine\n"


def test_a_zoo_is_not_a_checkpoint(run_zoo: Run, new_zoo: Zoo) -> None:
    ran = run_zoo("verify", f"{new_zoo.root}/")
    assert ran.status == 2
    assert "is a zoo, not a checkpoint" in ran.err


def test_an_empty_option_is_not_the_current_folder(run_zoo: Run) -> None:
    ran = kimi(run_zoo, "verify", "kimi-ft-v3", "--checkpoint", "")
    assert ran.status == 2
    assert "--checkpoint is empty" in ran.err


def test_a_draft_of_an_unknown_family_is_not_checked(run_zoo: Run, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["MysteryDraftModel"]}')
    (tmp_path / "model.safetensors").write_bytes(
        (REPOSITORY / "examples/tiny/base/model.safetensors").read_bytes()
    )
    ran = run_zoo("verify", f"{tmp_path}/")
    assert ran.status == 2
    assert "MysteryDraftModel" in ran.out
    assert "is not a draft that this version knows; it knows DSpark" in ran.out


def test_no_color_is_honoured(run_zoo: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import click

    import zoo.cli

    seen: list[bool | None] = []
    monkeypatch.setattr(
        "zoo.cli.app.App.out", staticmethod(lambda text: seen.append(click.get_current_context().color))
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert zoo.cli.run(["rule", "C021"]) == 0
    assert seen == [False]


def test_stats_show_the_numbers_of_every_tensor(run_zoo: Run) -> None:
    text = kimi(run_zoo, "verify", "tiny-ft", "--stats").out
    assert re.search(r"^fc\.weight +BF16 +128x384 +0 +0 ", text, re.MULTILINE)
    document = json.loads(kimi(run_zoo, "verify", "tiny-ft", "--stats", "--format", "json").out)
    Draft202012Validator(schema("zoo-report-1")).validate(document)
    entry = next(each for each in document["tensors"] if each["name"] == "fc.weight")
    assert entry["low"] < entry["moments"]["mean"] < entry["high"]
    assert document["level"] == "deep"


def test_no_cache_reads_again(run_zoo: Run) -> None:
    one, other = (kimi(run_zoo, "verify", "tiny-ft", "--deep", *more) for more in ((), ("--no-cache",)))
    assert one.status == other.status == 0
    assert one.out == other.out


def test_a_recipe_with_a_slash_is_not_looked_for_as_a_folder(run_zoo: Run, new_zoo: Zoo) -> None:
    ran = run_zoo("--zoo", new_zoo.root, "verify", "example-draft/")
    assert ran.status == 2
    assert "name the recipe: zoo verify example-draft" in ran.err
