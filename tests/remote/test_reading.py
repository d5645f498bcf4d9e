"""A remote checkpoint passes the very checks that a local one does, and little of it travels."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi

from tests.conftest import REPOSITORY, Ran
from tests.corpus.families import eagle3
from tests.corpus.families import write as write_family
from tests.corpus.kit import (
    WEIGHTS,
    draft_tensors,
    edit_header,
    good_draft,
    good_recipe,
    save,
    sharded_draft,
)
from tests.remote.hub import COMMIT, REPO, Folder, Hub, Reply, Server, serve
from zoo.recipe.load import load_recipe
from zoo.remote.address import Remote
from zoo.remote.source import opened
from zoo.results import Report
from zoo.sources import Sources
from zoo.standin import write_standin
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import Zoo, find_zoo

SOURCE = f"hf://{REPO}@v1.0.0"
RunZoo = Callable[..., Ran]


def verify(source: str, endpoint: str = "", timeout: float = 5.0) -> Report:
    with Sources(Remote(endpoint, timeout)) as sources:
        return verify_source(source, sources=sources).report


def results(report: Report) -> Any:
    return [result.as_json() for result in report.results if result.code != "F220"]


def test_a_repository_passes_the_checks_that_its_folder_passes(hub: Server, draft: Path) -> None:
    report = verify(SOURCE, hub.url)
    assert report.exit_status == 0
    assert report.subject["revision"] == COMMIT
    assert results(report) == results(verify_source(str(draft)).report)


def test_a_fault_of_a_repository_is_found_as_in_its_folder(hub: Server, draft: Path) -> None:
    edit_header(draft, lambda header: header["fc.weight"].update(dtype="F16"))
    report = verify(SOURCE, hub.url)
    assert report.exit_status == 1
    assert results(report) == results(verify_source(str(draft)).report)


def test_the_command_says_which_commit_it_read(hub: Server, run_zoo: RunZoo) -> None:
    ran = run_zoo("verify", f"hf://{REPO}", "--endpoint", hub.url)
    assert ran.status == 0
    assert ran.out.startswith(f"hf://{REPO} (commit {COMMIT}): 25 tensors, BF16")
    assert ran.err == ""


def test_the_published_size_takes_four_requests_and_200_kb(here: Zoo, tmp_path: Path) -> None:
    """The acceptance of issue 4: a draft of 69 tensors and 7 GB."""
    recipe = load_recipe(here, "kimi-ft-v3").recipe
    assert recipe is not None
    folder = tmp_path / "kimi"
    write_standin(recipe, folder)
    with serve(Folder(folder)) as storage, serve(Hub(folder, storage.url)) as hub:
        with Sources(Remote(hub.url)) as sources:
            report = verify_recipe(here, "kimi-ft-v3", checkpoint=SOURCE, sources=sources).report
        asked = hub.asked_for(WEIGHTS) + storage.asked_for(WEIGHTS)
        sent = hub.sent + storage.sent
    local = verify_recipe(here, "kimi-ft-v3", checkpoint=str(folder)).report
    assert report.exit_status == local.exit_status == 0
    assert results(report) == results(local)
    assert report.subject["bytes"] == 6_958_554_112
    assert len(asked) <= 4
    assert sent <= 200_000
    assert len(hub.seen) + len(storage.seen) == 4  # the listing, config.json, and the weights' two


def test_a_header_longer_than_the_first_request_takes_one_more(
    hub: Server, storage: Server, draft: Path
) -> None:
    save(draft / WEIGHTS, draft_tensors(), {"format": "pt", "note": "x" * 150_000})
    report = verify(SOURCE, hub.url)
    assert results(report) == results(verify_source(str(draft)).report)
    assert [seen.range for seen in storage.asked_for(WEIGHTS)] == [(0, 99_999), (100_000, 152_391)]
    assert len(hub.asked_for(WEIGHTS) + storage.asked_for(WEIGHTS)) == 4


@pytest.mark.parametrize("kind", ["hub", "site"])
def test_shards_are_read_as_in_a_folder(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "sharded"
    sharded_draft(folder, 3)
    with serve(Hub(folder) if kind == "hub" else Folder(folder)) as server:
        report = verify(SOURCE, server.url) if kind == "hub" else verify(server.url)
        asked = [seen.name for seen in server.seen if seen.name.startswith("model-")]
    assert report.exit_status == 0
    assert report.subject["tensors"] == 25
    assert len(asked) == 3


def test_a_shard_that_a_site_does_not_have_is_a_finding(tmp_path: Path) -> None:
    sharded_draft(tmp_path / "sharded", 3)
    (tmp_path / "sharded" / "model-00002-of-00003.safetensors").unlink()
    with serve(Folder(tmp_path / "sharded")) as site:
        report = verify(site.url)
    assert "F204" in {finding.code for finding in report.findings}
    assert report.exit_status == 1


@pytest.mark.parametrize("kind", ["hub", "site"])
def test_vocabulary_maps_are_read(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "eagle3"
    write_family(folder, eagle3())
    # So far behind the header that only another request brings them.
    local = verify_source(str(folder)).report
    with serve(Hub(folder) if kind == "hub" else Folder(folder)) as server:
        with opened(SOURCE if kind == "hub" else server.url, Remote(server.url)) as checkpoint:
            for name in ("d2t", "t2d"):
                begin, size = checkpoint.data_start[name], checkpoint.tensors[name].nbytes
                with (checkpoint.root / WEIGHTS).open("rb") as ours, (folder / WEIGHTS).open("rb") as theirs:
                    assert (ours.seek(begin), ours.read(size))[1] == (theirs.seek(begin), theirs.read(size))[
                        1
                    ]
        if kind == "hub":
            assert results(verify(SOURCE, server.url)) == results(local)


def test_vocabulary_maps_behind_the_first_request_are_fetched(tmp_path: Path) -> None:
    folder = tmp_path / "eagle3"
    write_family(folder, eagle3())
    header_and_more = 100
    with serve(Hub(folder)) as hub, pytest.MonkeyPatch.context() as patch:
        patch.setattr("zoo.remote.source.FIRST_BYTES", header_and_more)
        report = verify(SOURCE, hub.url)
        ranges = [seen.range for seen in hub.asked_for(WEIGHTS)]
    assert results(report) == results(verify_source(str(folder)).report)
    assert len(ranges) == 4  # the first bytes, the rest of the header, two maps


def test_a_site_is_read_without_its_listing_and_says_so(site: Server, draft: Path) -> None:
    (draft / "modeling.py").write_text("import os\n")
    report = verify(site.url)
    reasons = {result.reason for result in report.not_checked if result.code in ("X006", "F205", "F211")}
    assert reasons == {"a plain web server cannot say which other files it has"}
    assert report.exit_status == 0
    assert report.subject["tensors"] == 25


@pytest.mark.parametrize("kind", ["hub", "site"])
def test_a_server_that_ignores_range_sends_no_more_than_is_needed(kind: str, tmp_path: Path) -> None:
    """What python -m http.server does. The file has 64 MB, of which no more than buffers hold may be sent."""
    folder = tmp_path / "big"
    from tests.corpus.kit import good_draft

    good_draft(folder)
    tensors = draft_tensors() | {"lm_head.weight": ("BF16", (32 * 1024, 1024), bytes(64 * 1024 * 1024))}
    save(folder / WEIGHTS, tensors)

    def whole(seen: Any) -> Reply | None:
        path = folder / seen.name
        return Reply(200, {}, (path, 0, path.stat().st_size)) if path.is_file() else None

    with serve(Hub(folder) if kind == "hub" else Folder(folder)) as server:
        server.fault = whole
        report = verify(SOURCE, server.url) if kind == "hub" else verify(server.url)
        sent = server.sent
    assert report.subject["tensors"] == 26
    assert sent < 16 * 1024 * 1024


def test_the_listing_is_what_the_official_client_reads(hub: Server, draft: Path) -> None:
    (draft / "README.md").write_text("about\n")
    info = HfApi(endpoint=hub.url).repo_info(REPO, revision="v1.0.0", files_metadata=True)
    assert info.siblings is not None
    with opened(SOURCE, Remote(hub.url)) as checkpoint:
        assert checkpoint.revision == info.sha
        assert dict(checkpoint.files) == {each.rfilename: each.size for each in info.siblings}
        assert checkpoint.reported_sha256 == {
            each.rfilename: each.lfs.sha256 for each in info.siblings if each.lfs
        }
        assert checkpoint.listed


def test_a_recipe_that_names_a_repository_is_verified_there(
    hub: Server, draft: Path, run_zoo: RunZoo
) -> None:
    good_recipe(draft)
    recipe = draft.parent / "recipes" / "draft.yaml"
    recipe.write_text(recipe.read_text().replace("source: ./draft", f"source: {SOURCE}"))
    ran = run_zoo("--zoo", draft.parent, "verify", "draft", "--endpoint", hub.url, "--format", "json")
    report = json.loads(ran.out)
    assert ran.status == 0
    assert report["subject"]["revision"] == COMMIT
    assert report["subject"]["checkpoint"] == SOURCE


def test_a_recipe_whose_repository_is_out_of_reach_is_not_checked(draft: Path, run_zoo: RunZoo) -> None:
    good_recipe(draft)
    recipe = draft.parent / "recipes" / "draft.yaml"
    recipe.write_text(recipe.read_text().replace("source: ./draft", f"source: {SOURCE}"))
    ran = run_zoo(
        "--zoo", draft.parent, "verify", "draft", "--endpoint", "http://127.0.0.1:9", "--timeout", 1
    )
    assert ran.status == 2
    assert "not checked" in ran.out
    assert "127.0.0.1 cannot be reached" in ran.out


def test_without_the_network_a_recipe_is_not_checked_either(
    draft: Path, run_zoo: RunZoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    good_recipe(draft)
    recipe = draft.parent / "recipes" / "draft.yaml"
    recipe.write_text(recipe.read_text().replace("source: ./draft", f"source: {SOURCE}"))
    ran = run_zoo("--zoo", draft.parent, "verify", "draft")
    assert ran.status == 2
    assert "HF_HUB_OFFLINE is set" in ran.out


def test_a_base_may_be_remote(hub: Server, draft: Path) -> None:
    good_recipe(draft)
    with Sources(Remote(hub.url)) as sources:
        zoo = find_zoo(draft.parent)
        run = verify_recipe(zoo, "draft", checkpoint=str(draft), base=SOURCE, sources=sources)
    assert run.subject.base is not None
    assert run.subject.base.revision == COMMIT


def test_adopt_writes_the_recipe_of_a_repository(hub: Server, new_zoo: Zoo, run_zoo: RunZoo) -> None:
    ran = run_zoo("--zoo", new_zoo.root, "adopt", SOURCE, "--name", "mine", "--endpoint", hub.url)
    assert ran.status == 0
    assert f"source: {SOURCE}" in (new_zoo.recipes / "mine.yaml").read_text()


def test_a_release_and_a_mended_copy_are_never_made_of_what_was_not_downloaded(
    hub: Server, run_zoo: RunZoo, tmp_path: Path
) -> None:
    ran = run_zoo("fix", SOURCE, "--out", tmp_path / "out")
    assert ran.status == 2
    assert "reads local folders only" in ran.err


def test_nothing_is_left_behind(hub: Server, tmp_path: Path) -> None:
    with opened(SOURCE, Remote(hub.url)) as checkpoint:
        assert checkpoint.root.parent == tmp_path
        assert (checkpoint.root / WEIGHTS).stat().st_size == checkpoint.files[WEIGHTS]
    assert not list(tmp_path.glob("zoo-remote-*"))


def test_what_is_local_needs_no_client(draft: Path) -> None:
    code = (
        "import sys, zoo.cli\n"
        f"assert zoo.cli.run(['verify', {str(draft)!r}]) == 0 and zoo.cli.run(['--help']) == 0\n"
        "print([name for name in sys.modules if name.startswith(('huggingface_hub', 'httpx', 'tenacity'))])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_target_may_be_remote_and_its_config_is_compared(site: Server, draft: Path, tmp_path: Path) -> None:
    """The config of another model stands at the site; only what it is, is read."""
    ours = tmp_path / "ours"
    good_draft(ours, num_target_layers=7)
    config = json.loads((draft / "config.json").read_text()) | {"num_hidden_layers": 4, "model_type": "llama"}
    (draft / "config.json").write_text(json.dumps(config))
    with Sources(Remote()) as sources:
        report = verify_source(str(ours), target=site.url + "/", sources=sources).report
    found = [each for each in report.findings if each.code.startswith("C11")]
    assert any("7" in each.message and "4" in each.message for each in found)
