"""``zoo doctor``: what is found, what is missing, what is broken; no token and no connection unasked."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import set_client_factory
from huggingface_hub.utils._http import default_client_factory

from tests.conftest import REPOSITORY, Ran
from tests.hub.server import HubProcess, running
from zoo.schemas import validator
from zoo.workspace import Zoo

Run = Callable[..., Ran]
METADATA = """\
Metadata-Version: 2.4
Name: draft-zoo
Version: 0.1.0
Requires-Python: >=3.11
"""


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user who never logged in."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubProcess]:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with running(tmp_path / "hub") as process:
        yield process
    set_client_factory(default_client_factory)


def installed(monkeypatch: pytest.MonkeyPatch, folder: Path, *lines: str) -> None:
    """A draft-zoo that is installed with these lines of metadata."""
    info = folder / "site" / "draft_zoo-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA + "".join(f"{line}\n" for line in lines))
    monkeypatch.syspath_prepend(str(folder / "site"))


def items(ran: Ran) -> dict[str, dict[str, str]]:
    """What was looked at, by part and name."""
    document = json.loads(ran.out)
    validator("zoo-doctor-1").validate(document)
    assert document["exit"] == ran.status
    return {f"{each['part']} {each['name']}": each for each in document["items"]}


def doctor(run_zoo: Run, zoo: Zoo | Path, *args: str) -> tuple[Ran, dict[str, dict[str, str]]]:
    root = zoo.root if isinstance(zoo, Zoo) else zoo
    ran = run_zoo("--zoo", root, "doctor", "--format", "json", *args)
    return ran, items(ran)


def test_the_base_works_here(run_zoo: Run, new_zoo: Zoo) -> None:
    ran, found = doctor(run_zoo, new_zoo)
    assert ran.status == 0, ran.out
    assert {found[f"base {name}"]["state"] for name in ("python", "zoo", "click", "jinja2")} == {"ok"}
    assert found["git git"]["state"] == "ok"
    assert "zoo.toml: publish_to: dir:published" in found["zoo settings"]["detail"]
    assert found["zoo recipes"]["detail"] == "1"


def test_as_text_every_part_has_its_lines(run_zoo: Run, new_zoo: Zoo) -> None:
    ran = run_zoo("--zoo", new_zoo.root, "doctor")
    assert ran.status == 0
    assert ran.out.startswith("base\n  ok         python: 3.")
    assert {"git", "zoo", "hub", "disk", "gpus"} <= set(ran.out.splitlines())


def test_outside_of_a_zoo_it_works_too(run_zoo: Run, tmp_path: Path) -> None:
    ran, found = doctor(run_zoo, tmp_path)
    assert (ran.status, found["zoo zoo"]["state"]) == (0, "absent")


def test_a_missing_package_is_broken_and_names_the_command(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, tmp_path, "Requires-Dist: click>=8", "Requires-Dist: no-such-package>=1,<2")
    ran, found = doctor(run_zoo, new_zoo)
    assert ran.status == 1
    assert found["base no-such-package"] == {
        "part": "base",
        "name": "no-such-package",
        "state": "broken",
        "detail": "is not installed",
        "hint": "pip install 'no-such-package<2,>=1'",
    }


def test_a_package_of_a_refused_version_is_broken(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, tmp_path, "Requires-Dist: click<1")
    ran, found = doctor(run_zoo, new_zoo)
    assert ran.status == 1
    assert found["base click"]["detail"].endswith("and zoo needs <1")


EXTRAS = (
    "Provides-Extra: replay",
    "Requires-Dist: no-such-package; extra == 'replay'",
    "Provides-Extra: sign",
    "Requires-Dist: no-such-signer>=2; extra == 'sign'",
    "Provides-Extra: hub",
    "Requires-Dist: click>=8; extra == 'hub'",
    "Provides-Extra: dev",
    "Requires-Dist: nothing-for-users; extra == 'dev'",
)


def test_extras_are_whole_or_missing_with_the_command_that_installs_them(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, tmp_path, *EXTRAS)
    ran, found = doctor(run_zoo, new_zoo)
    assert ran.status == 0
    assert found["extras hub"]["state"] == "ok"
    assert found["extras replay"]["state"] == "absent"
    assert found["extras replay"]["hint"] == "pip install 'draft-zoo[replay]'"
    assert "extras dev" not in found


def test_an_extra_that_a_gate_needs_is_a_warning(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, tmp_path, *EXTRAS)
    recipe = new_zoo.recipes / "example-draft.yaml"
    recipe.write_text(recipe.read_text() + "\ngates: {replay: {trace: held-out}}\n")
    ran, found = doctor(run_zoo, new_zoo)
    assert (ran.status, found["extras replay"]["state"]) == (0, "warning")
    assert "needed to run the replay gate of example-draft" in found["extras replay"]["detail"]


def test_signers_that_nothing_here_can_check_are_broken(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, tmp_path, *EXTRAS)
    new_zoo.settings_file.write_text('trust = {signers = [{name = "alice", key = "alice.pub"}]}')
    ran, found = doctor(run_zoo, new_zoo)
    assert (ran.status, found["extras sign"]["state"]) == (1, "broken")


def test_settings_that_cannot_be_read_are_broken(run_zoo: Run, new_zoo: Zoo) -> None:
    new_zoo.settings_file.write_text('severity = {F101 = "note"}')
    ran, found = doctor(run_zoo, new_zoo)
    assert (ran.status, found["zoo settings"]["state"]) == (1, "broken")
    assert "F101" in found["zoo settings"]["detail"]


def test_a_recipe_that_cannot_be_used_is_a_warning(run_zoo: Run, new_zoo: Zoo) -> None:
    (new_zoo.recipes / "broken.yaml").write_text("{")
    ran, found = doctor(run_zoo, new_zoo)
    assert (ran.status, found["zoo recipes"]["hint"]) == (0, "zoo verify broken")


def test_without_git_it_says_so(run_zoo: Run, new_zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert doctor(run_zoo, new_zoo)[1]["git git"]["state"] == "warning"


def test_a_token_is_found_and_never_shown_nor_used(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hf_" + "x" * 34
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert doctor(run_zoo, new_zoo)[1]["hub token"]["state"] == "absent"
        (tmp_path / "token").write_text(secret)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        ran, found = doctor(run_zoo, new_zoo, "--endpoint", endpoint)
        assert "where hf auth login saves it" in found["hub token"]["detail"]
        monkeypatch.setenv("HF_TOKEN", secret)
        ran, found = doctor(run_zoo, new_zoo, "--endpoint", endpoint)
        assert "found in HF_TOKEN" in found["hub token"]["detail"]
        assert found[f"hub {endpoint}"]["state"] == "not asked"
        assert secret not in ran.out + ran.err
        with pytest.raises(BlockingIOError):  # nobody connected
            server.accept()


def test_online_it_says_whose_the_token_is_and_that_the_hub_answers(
    run_zoo: Run, new_zoo: Zoo, hub: HubProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", hub.token)
    ran, found = doctor(run_zoo, new_zoo, "--online", "--endpoint", hub.url, "--timeout", "20")
    assert ran.status == 0, ran.out
    assert found["hub token"]["detail"].endswith(f"it is the token of alice at {hub.url}")
    assert found[f"hub {hub.url}"]["state"] == "ok"
    assert hub.token not in ran.out + ran.err


def test_online_a_refused_token_and_a_host_that_does_not_answer_are_broken(
    run_zoo: Run, new_zoo: Zoo, hub: HubProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    new_zoo.settings_file.write_text(f'endpoints = ["{nobody}"]')
    monkeypatch.setenv("HF_TOKEN", "hf_nobodys")
    ran, found = doctor(run_zoo, new_zoo, "--online", "--endpoint", hub.url, "--timeout", "20")
    assert ran.status == 1
    assert found["hub token"]["state"] == "broken"
    assert found[f"hub {nobody}"]["state"] == "broken"
    assert "hf_nobodys" not in ran.out + ran.err


def test_a_token_is_not_blamed_for_a_hub_that_does_not_answer(
    run_zoo: Run, new_zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("HF_TOKEN", "hf_somebodys")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    ran, found = doctor(run_zoo, new_zoo, "--online", "--endpoint", nobody)
    assert (ran.status, found["hub token"]["state"]) == (1, "not asked")


def test_offline_mode_is_respected(run_zoo: Run, new_zoo: Zoo) -> None:
    ran, found = doctor(run_zoo, new_zoo, "--online")
    assert found["hub https://huggingface.co"]["detail"] == "HF_HUB_OFFLINE is set"
    assert ran.status == 0


def test_a_folder_that_cannot_be_written_to_is_named(
    run_zoo: Run, new_zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/zoo")
    assert doctor(run_zoo, new_zoo)[1]["disk cache"]["state"] == "warning"


def test_this_repository_is_fine(run_zoo: Run) -> None:
    assert run_zoo("--zoo", REPOSITORY, "doctor").status == 0
