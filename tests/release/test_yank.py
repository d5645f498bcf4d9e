"""``zoo yank``: a withdrawn version is said to be so everywhere, and stays where it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from tests.release.conftest import Place
from tests.release.hub_place import HubPlace, hub, on_hub, proxied, publish_by_hand  # noqa: F401
from tests.release.hub_proxy import Proxy

WHY = "the mask token was that of another tokenizer"
FAULTS = ("500 before", "500 after", "429", "drop before", "drop after")


def yank(place: Place, *args: str, version: str = "1.0.0") -> tuple[int, str, str]:
    ran = place.run("--zoo", place.root, "yank", f"tiny@{version}", "--timeout", "20", *args)
    return ran.status, ran.out, ran.err


def log_of(place: Place) -> list[dict[str, str]]:
    text = (place.root / "release" / "tiny" / "log.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def readme(on_hub: HubPlace, revision: str) -> str:  # noqa: F811
    path = on_hub.api.hf_hub_download(on_hub.repo, "README.md", revision=revision, force_download=True)
    return Path(path).read_text()


def test_a_yank_is_one_line_of_the_log_however_often_it_is_said(place: Place) -> None:
    assert place.push().status == 0
    status, out, err = yank(place, "--reason", WHY)
    assert (status, "log.jsonl says so now" in out) == (0, True), err
    assert "not said yet where it was published" in err
    assert yank(place, "--reason", WHY)[0] == 0
    assert yank(place)[0] == 0
    assert [(e["event"], e.get("reason")) for e in log_of(place)] == [("published", None), ("yanked", WHY)]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "why is tiny 1.0.0 yanked?"),
        (("--reason", "two\nlines"), "is no line that can be shown"),
        (("--reason", "x" * 301), "at most 300 characters"),
        (("--reason", "hf_" + "a" * 34), "the reason holds a Hugging Face token"),
        (("--reason", WHY, "--to", "hf"), "--to says where to push"),
        (("--reason", WHY, "--push", "--to", "dir:elsewhere"), "was not published at"),
    ],
)
def test_a_yank_that_says_nothing_useful_is_refused_and_changes_nothing(
    place: Place, args: tuple[str, ...], said: str
) -> None:
    assert place.push().status == 0
    before = log_of(place)
    status, out, err = yank(place, *args)
    assert status != 0
    assert said in out + err
    assert log_of(place) == before


@pytest.mark.parametrize("push", [False, True])
@pytest.mark.parametrize("kept", ["HF_TOKEN", "file"])
def test_the_token_in_use_is_no_reason_whatever_its_shape(
    on_hub: HubPlace,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: str,
    push: bool,
) -> None:
    assert on_hub.push().status == 0
    token, before = "opaque.0123456789", (log_of(on_hub.place), readme(on_hub, "main"))
    monkeypatch.setenv("HF_TOKEN", token)
    if kept == "file":
        monkeypatch.delenv("HF_TOKEN")
        (tmp_path / "no-token").write_text(token)
    more = ("--push", "--to", on_hub.url) if push else ()
    status, out, err = yank(on_hub.place, "--reason", f"see {token} there", *more)
    assert (status, "the reason holds the very token that is in use" in err) == (2, True), err
    assert token not in out + err
    assert (log_of(on_hub.place), readme(on_hub, "main")) == before


def test_the_first_reason_stands(place: Place) -> None:
    assert place.push().status == 0
    assert yank(place, "--reason", WHY)[0] == 0
    status, _, err = yank(place, "--reason", "something else")
    assert status == 1
    assert f"for another reason: {WHY}" in err


def test_what_was_never_released_cannot_be_yanked(place: Place) -> None:
    status, _, err = yank(place, "--reason", WHY)
    assert (status, 'there is no release "tiny@1.0.0"' in err) == (2, True)
    assert not (place.root / "release").exists()


def test_the_index_of_a_folder_says_so_and_the_version_stays_as_it_is(place: Place) -> None:
    assert place.push().status == 0
    folder = place.published / "tiny" / "1.0.0"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    status, _, err = yank(place, "--reason", WHY, "--push")
    assert status == 0, err
    index = json.loads((place.published / "index.json").read_bytes())
    assert index["releases"]["tiny"]["1.0.0"]["yanked"] == WHY
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    # A later release, which writes the index anew, keeps it.
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    assert place.push().status == 0
    index = json.loads((place.published / "index.json").read_bytes())
    assert index["releases"]["tiny"]["1.0.0"]["yanked"] == WHY
    assert "yanked" not in index["releases"]["tiny"]["1.1.0"]


def test_a_folder_outside_of_the_zoo_is_changed_only_if_somebody_types_it(
    place: Place, tmp_path: Path
) -> None:
    outside = f"dir:{tmp_path / 'outside'}"
    assert place.push("--to", outside).status == 0
    status, _, err = yank(place, "--reason", WHY, "--push")
    assert (status, "outside of this zoo" in err) == (2, True)
    assert yank(place, "--reason", WHY, "--push", "--to", outside)[0] == 0
    assert "yanked" in (tmp_path / "outside" / "index.json").read_text()


def test_a_folder_that_lost_the_version_is_named_and_nothing_is_said(place: Place) -> None:
    assert place.push().status == 0
    (place.published / "tiny" / "1.0.0").rename(place.root / "gone")
    status, _, err = yank(place, "--reason", WHY, "--push")
    assert (status, '"dir:published", which does not hold it' in err) == (1, True)
    assert len(log_of(place)) == 1


def test_a_damaged_standing_is_refused_when_it_would_be_overwritten(place: Place) -> None:
    assert place.push().status == 0
    (place.published / "tiny" / ".standing.json").write_text('{"schema": "zoo-standing/1", "yanked": []}')
    status, _, err = yank(place, "--reason", WHY, "--push")
    assert (status, "is damaged" in err) == (2, True)
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    assert place.push().status == 0  # a release does not depend on it


def test_pull_and_verify_of_a_yanked_version_work_and_say_why_not_to(place: Place, tmp_path: Path) -> None:
    assert place.push().status == 0
    assert yank(place, "--reason", WHY)[0] == 0
    warning = f"warning: tiny@1.0.0 is yanked: {WHY}; see: zoo history tiny"
    verified = place.run("--zoo", place.root, "verify", "tiny@1.0.0")
    assert (verified.status, warning in verified.err) == (0, True), verified.err
    pulled = place.run("--zoo", place.root, "pull", "tiny@1.0.0", "--out", tmp_path / "pulled")
    assert (pulled.status, warning in pulled.err) == (0, True), pulled.err


def test_a_yanked_version_can_be_neither_released_nor_promoted(place: Place) -> None:
    assert place.push().status == 0
    assert yank(place, "--reason", WHY)[0] == 0
    again = place.push()
    assert (again.status, f"tiny 1.0.0 is yanked and cannot be released: {WHY}" in again.err) == (1, True)
    dry = place.release()
    assert (dry.status, "would be refused" in dry.out) == (1, True)
    promoted = place.run("--zoo", place.root, "promote", "tiny@1.0.0", "--alias", "stable")
    assert (promoted.status, "cannot be promoted" in promoted.err) == (1, True)


def test_list_and_show_mark_it(place: Place) -> None:
    assert place.push().status == 0
    assert yank(place, "--reason", WHY)[0] == 0
    assert "1.0.0 (yanked)" in place.run("--zoo", place.root, "list").out
    assert "released    1.0.0 (yanked)" in place.run("--zoo", place.root, "show", "tiny").out
    shown = json.loads(place.run("--zoo", place.root, "show", "tiny", "--format", "json").out)
    assert (shown["released"], shown["yanked"], shown["aliases"]) == (["1.0.0"], {"1.0.0": WHY}, [])


def test_the_card_of_the_next_version_says_which_one_is_withdrawn(place: Place) -> None:
    assert place.push().status == 0
    assert yank(place, "--reason", "it is <b>broken</b> | [x](http://y)")[0] == 0
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    assert place.push().status == 0
    card = (place.published / "tiny" / "1.1.0" / "README.md").read_text()
    assert "**Version 1.0.0 of tiny is withdrawn.** it is \\<b>broken\\</b> \\| \\[x\\](http://y)" in card


def test_on_a_hub_the_card_on_main_says_so_and_nothing_else_changes(on_hub: HubPlace) -> None:  # noqa: F811
    assert on_hub.push().status == 0
    [released, _], before = on_hub.commits, readme(on_hub, "main")
    files = {f.rfilename: f.blob_id for f in _info(on_hub, "main")}
    status, _, err = yank(on_hub.place, "--reason", WHY, "--push", "--to", on_hub.url)
    assert status == 0, err
    assert len(on_hub.commits) == 3
    assert on_hub.tags == {"v1.0.0": released}
    after = {f.rfilename: f.blob_id for f in _info(on_hub, "main")}
    assert {path for path in after if after[path] != files[path]} == {"README.md"}
    assert readme(on_hub, "v1.0.0") == before
    card = readme(on_hub, "main")
    assert f"> **Version 1.0.0 of tiny is withdrawn.** {WHY}" in card
    assert ModelCard(card).data.to_dict() == ModelCard(before).data.to_dict()
    events = log_of(on_hub.place)
    assert [event["event"] for event in events] == ["published", "yanked", "card"]
    assert events[-1]["ref"] == on_hub.commits[0]
    # Once more, and once more after the log lost what was done.
    assert yank(on_hub.place, "--push", "--to", on_hub.url)[0] == 0
    log = on_hub.place.root / "release" / "tiny" / "log.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:2]))
    assert yank(on_hub.place, "--push", "--to", on_hub.url)[0] == 0
    assert len(on_hub.commits) == 3
    assert [event["event"] for event in log_of(on_hub.place)] == ["published", "yanked", "card"]


def test_a_card_that_somebody_wrote_on_is_kept_and_a_second_yank_joins_the_first(
    on_hub: HubPlace,  # noqa: F811
) -> None:
    assert on_hub.push().status == 0
    on_hub.place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    assert on_hub.push().status == 0
    publish_by_hand(on_hub.api, on_hub.repo, README__md=readme(on_hub, "main") + "\nA line by hand.\n")
    for version in ("1.0.0", "1.1.0"):
        assert yank(on_hub.place, "--reason", WHY, "--push", "--to", on_hub.url, version=version)[0] == 0
    card = readme(on_hub, "main")
    assert card.endswith("\nA line by hand.\n")
    assert card.count("is withdrawn") == 2
    assert card.count("<!-- zoo: withdrawn versions -->") == 1


def test_a_server_that_only_the_log_names_gets_no_token(on_hub: HubPlace) -> None:  # noqa: F811
    assert on_hub.push().status == 0
    status, _, err = yank(on_hub.place, "--reason", WHY, "--push")
    assert (status, "if you trust that server with your token" in err) == (2, True)
    assert len(log_of(on_hub.place)) == 1


def test_main_that_holds_another_draft_is_left_alone(on_hub: HubPlace) -> None:  # noqa: F811
    assert on_hub.push().status == 0
    publish_by_hand(on_hub.api, on_hub.repo, manifest__json="{}")
    head = on_hub.commits[0]
    status, _, err = yank(on_hub.place, "--reason", WHY, "--push", "--to", on_hub.url)
    assert (status != 0, "is not a manifest of a release" in err) == (True, True), err
    assert on_hub.commits[0] == head


@pytest.mark.parametrize("fault", FAULTS)
def test_a_lost_answer_never_makes_a_second_commit(
    proxied: tuple[HubPlace, Proxy],  # noqa: F811
    fault: str,
) -> None:
    on_hub, proxy = proxied  # noqa: F811
    assert on_hub.push().status == 0
    proxy.break_once("POST /api/models/" + on_hub.repo + "/commit/", fault)
    status, _, err = yank(on_hub.place, "--reason", WHY, "--push", "--to", on_hub.url)
    assert status == 0, err
    assert len(on_hub.commits) == 3
    assert "is withdrawn" in readme(on_hub, "main")


def test_main_that_moves_meanwhile_is_not_overwritten(
    proxied: tuple[HubPlace, Proxy],  # noqa: F811
) -> None:
    on_hub, proxy = proxied  # noqa: F811
    assert on_hub.push().status == 0

    def somebody(request: str) -> None:
        if "/commit/" in request:
            proxy.before = lambda request: None
            publish_by_hand(on_hub.api, on_hub.repo, other__txt="by hand")

    proxy.before = somebody
    status, _, err = yank(on_hub.place, "--reason", WHY, "--push", "--to", on_hub.url)
    assert (status, "moved while this command ran" in err) == (1, True)
    assert yank(on_hub.place, "--push", "--to", on_hub.url)[0] == 0
    assert "other.txt" in on_hub.files
    assert "is withdrawn" in readme(on_hub, "main")


def _info(on_hub: HubPlace, revision: str) -> list:  # noqa: F811
    return on_hub.api.model_info(on_hub.repo, revision=revision, files_metadata=True).siblings
