"""A repository that the user may not see, or that does not exist: the Hub does not tell which, and no verb
does as if it had."""
# ruff: noqa: F401, F811 - fixtures are imported, and named again as parameters

from __future__ import annotations

from pathlib import Path

import pytest

from tests.release.conftest import Place, _template, place
from tests.release.hub_place import HubPlace, hub, on_hub

NO_TOKEN = "without a token (401): it is private or gated, or there is none of this name"
OTHER_TOKEN = "to this token (404): it is private or gated, or there is none of this name"
USERS = {
    "nobody": (NO_TOKEN, "if it is private or gated: hf auth login, or set HF_TOKEN"),
    "a stranger": (OTHER_TOKEN, "if it is private or gated: use a token of an account that may read it"),
    "a wrong token": ("the hub does not accept the token (401)", "log in again: hf auth login"),
}


@pytest.mark.parametrize("user", USERS)
def test_every_verb_that_reads_says_what_may_be_and_what_to_do(
    user: str, on_hub: HubPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = {"a stranger": on_hub.hub.stranger_token, "a wrong token": "hf_wrong"}
    on_hub.make_repo(private=True)
    source, said = f"hf://{on_hub.repo}", USERS[user]
    monkeypatch.delenv("HF_TOKEN")
    if user in tokens:
        monkeypatch.setenv("HF_TOKEN", tokens[user])
    for verb in (
        ["verify", source],
        ["verify", "tiny", "--checkpoint", source],
        ["pull", source, "--out", str(tmp_path / "got")],
        ["diff", source, str(on_hub.place.checkpoint)],
        ["adopt", source, "--name", "other"],
        ["ci", "--hub-pr", f"{on_hub.repo}#1"],
    ):
        ran = on_hub.place.run("--zoo", on_hub.place.root, *verb, "--endpoint", on_hub.url, "--timeout", "9")
        assert ran.status == 2, (verb, ran.out, ran.err)
        told = " ".join((ran.out + ran.err).split())
        assert all(words in told for words in said), (verb, told)


def test_a_gated_repository_shows_its_listing_and_says_who_gives_its_files(
    on_hub: HubPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_hub.make_repo(private=False)
    assert on_hub.push("--gated", "manual").status == 0
    for token, words in {
        "": "the repository is gated (401)\n",
        on_hub.hub.stranger_token: "the repository is gated (403)\n",
    }.items():
        monkeypatch.setenv("HF_TOKEN", token)
        ran = on_hub.place.run("verify", f"hf://{on_hub.repo}", "--endpoint", on_hub.url)
        assert ran.status == 2
        assert words in ran.err, ran.err
        assert f"ask for access on {on_hub.url}/{on_hub.repo}; then: " in ran.err
