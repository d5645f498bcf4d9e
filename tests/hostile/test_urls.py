"""Addresses that a pull request names: nobody is contacted but whom the base's settings or the user named,
and no redirect leads elsewhere. Servers on loopback count what they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from huggingface_hub import constants

from tests.ci.example import Work
from tests.hostile.kit import Judged, judge, recipe_of
from tests.remote.hub import Reply, Seen, Server, serve

TOKEN = "hf_zooTestsTokenThatNobodyMaySee"
NOT_ALLOWED = "its host is not allowed by the settings"
NO_ADDRESS = "is not the address of a model repository"
# What a recipe names as its source, and what is said about it. "" is R008: no source at all.
SOURCES = {
    "http://169.254.169.254/latest/meta-data/": "",
    "https://169.254.169.254/": NOT_ALLOWED,
    "https://2852039166/": NOT_ALLOWED,
    "https://0xA9FEA9FE/": NOT_ALLOWED,
    "https://[::1]/x/": NOT_ALLOWED,
    "https://[::ffff:169.254.169.254]/": NOT_ALLOWED,
    "https://localhost/": NOT_ALLOWED,
    "http://localhost/": "",
    "http://127.1/": "",
    "file:///etc/passwd": "",
    "ftp://huggingface.co/x": "",
    "ssh://git@evil.example/x": "",
    "git+https://evil.example/x": "",
    "data:text/plain,x": "",
    "HTTPS://evil.example/": "",
    "https://": "",
    "https:///etc/passwd": "is no URL",
    "https://huggingface.co@evil.example/x/": "a user name or a password",
    "https://huggingface.co:443@evil.example/": "a user name or a password",
    "https://huggingface.co\\@evil.example/": "a user name or a password",
    "https://huggingface.co.evil.example/": NOT_ALLOWED,
    "https://evil.example/https://huggingface.co/": NOT_ALLOWED,
    "https://huggingface.co:8443/x/": NOT_ALLOWED,
    "https://huggingfac\u0435.co/x/": NOT_ALLOWED,  # a Cyrillic letter
    "https://huggingface\u3002co.evil.example/": NOT_ALLOWED,
    "https://huggingface.co%2eevil.example/": "is no URL",
    "https://evil.example#huggingface.co": "a query or a fragment",
    "https://evil.example/?x=huggingface.co": "a query or a fragment",
    "hf://evil.example:80/x": NO_ADDRESS,
    "hf://user:pw@evil/x": NO_ADDRESS,
    "hf://../../x@main": NO_ADDRESS,
    "hf://acme/x@../../../evil": NO_ADDRESS,
    "hf://acme/x/y/z": NO_ADDRESS,
    "hf://acme/x?x=1": NO_ADDRESS,
    "hf://\u0430cme/x": NO_ADDRESS,
}
INTERNAL = "http://169.254.169.254/x"
# Other fields that lead to a contact: the file, its text, and the codes.
FIELDS = {
    "target": ("recipes/targets/fourth-target.yaml", "repo: zoo-tests/tiny-target", f"repo: '{INTERNAL}'"),
    "engine": (
        "recipes/profiles/sglang-fourth.yaml",
        "engine: sglang==0.5.14",
        f"engine: 'sglang @ {INTERNAL}'",
    ),
    "repository": ("recipes/fourth.yaml", "repo: zoo-tests/fourth", f"repo: '{INTERNAL}'"),
    "training manifest": ("recipes/fourth.yaml", "manifest: tiny.training.json", f"manifest: '{INTERNAL}'"),
    "base": (
        "recipes/fourth.yaml",
        "checkpoint:\n",
        f"base: {{repo: '{INTERNAL}', revision: unknown, config: identical}}\ncheckpoint:\n",
    ),
}


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user with a token, whose requests to loopback go through no proxy."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


def test_no_source_of_a_recipe_leads_to_a_host_that_nobody_allowed(clones: Callable[[], Work]) -> None:
    work = clones()
    for number, source in enumerate(SOURCES):
        recipe_of(work, f"s{number}", ("./drafts/fourth", f"'{source}'"))
    result = judge(work)  # which checks that nobody was contacted
    expected = {f"s{n}": {"K001"} if said else {"R008"} for n, said in enumerate(SOURCES.values())}
    assert result.codes == expected
    for draft in result.result["drafts"]:
        said = SOURCES[list(SOURCES)[int(draft["name"][1:])]]
        assert said in "\n".join(each["reason"] for each in draft["report"]["results"]), draft["name"]


@pytest.mark.parametrize("field", FIELDS)
def test_no_other_field_takes_an_address(clones: Callable[[], Work], field: str) -> None:
    work = clones()
    work.edit(*FIELDS[field])
    assert judge(work).codes == {"fourth": {"R008"}}


def test_a_log_and_settings_of_the_change_send_nobody_anywhere(clones: Callable[[], Work]) -> None:
    work = clones()
    work.log(
        "tiny", lambda events: events.append({**events[0], "target": INTERNAL, "repo": "zoo-tests/tiny"})
    )
    settings = f'endpoints = ["{INTERNAL.replace("http:", "https:")}"]\n'
    settings += f'trust = {{signers = [{{name = "x", identity = "a@b.example", provider = "{INTERNAL}"}}]}}\n'
    work.write("zoo.toml", work.read("zoo.toml") + settings)
    recipe_of(work, "fifth", ("./drafts/fourth", INTERNAL.replace("http:", "https:")))
    result = judge(work)
    assert result.codes == {"": {"V011"}, "fifth": {"K001"}}
    assert NOT_ALLOWED in result.reasons


# -- redirects


@pytest.fixture
def elsewhere() -> Iterator[Server]:
    with serve(lambda seen: Reply(200, body=b"{}")) as server:
        yield server


def judged_at(clones: Callable[[], Work], answer: Callable[[Seen], Reply]) -> tuple[Judged, Server]:
    """The draft on the Hub, changed, where the user typed the endpoint of a server that answers so."""
    work = clones()
    work.edit("recipes/third.yaml", "A tiny draft", "A good draft")
    work.card("third")
    with serve(answer) as server:
        return judge(work, args=("--endpoint", server.url, "--timeout", "10"), online=True), server


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("http://localhost:{port}/x", "a redirect to another host"),
        ("//localhost:{port}/x", "a redirect to another host"),
        ("https://evil.example/x", "a redirect to another host"),
        ("http://169.254.169.254/x", "which is not https to another machine"),
        ("file:///etc/passwd", "a redirect to nowhere"),
        ("http://user:pw@127.0.0.1:{port}/x", "a redirect with a password"),
    ],
)
def test_a_redirect_to_another_host_is_not_followed(
    clones: Callable[[], Work], elsewhere: Server, place: str, said: str
) -> None:
    location = place.format(port=elsewhere.url.rpartition(":")[2])
    result, asked = judged_at(clones, lambda seen: Reply(302, {"Location": location}))
    assert (result.verdicts, result.exit) == ({"third": "not checked"}, 2)
    assert said in result.reasons
    assert elsewhere.seen == []
    assert asked.seen[0].headers["authorization"] == f"Bearer {TOKEN}"
    port = int(asked.url.rpartition(":")[2])
    assert {where[1] for where in result.seen.contacted if isinstance(where, tuple)} == {port}
    assert all(TOKEN not in output for output in result.forms.values())


def test_redirects_that_never_end_are_given_up(clones: Callable[[], Work]) -> None:
    result, asked = judged_at(clones, lambda seen: Reply(302, {"Location": seen.path + "x"}))
    assert "too many redirects" in result.reasons
    assert len(asked.seen) < 20


def test_a_token_does_not_reach_the_storage_that_a_hub_redirects_to(
    clones: Callable[[], Work], elsewhere: Server
) -> None:
    commit = "0" * 40
    files = b'{"sha": "%s", "siblings": [{"rfilename": "config.json", "size": 2}]}' % commit.encode()

    def answer(seen: Seen) -> Reply:
        if seen.path.startswith("/api/"):
            return Reply(200, {"Content-Type": "application/json"}, files)
        return Reply(302, {"Location": f"{elsewhere.url}/x", "X-Repo-Commit": commit})

    result, asked = judged_at(clones, answer)
    assert result.exit != 0
    assert [seen.headers["authorization"] for seen in asked.seen] == [f"Bearer {TOKEN}"] * len(asked.seen)
    assert elsewhere.seen
    assert all(
        "authorization" not in seen.headers and "cookie" not in seen.headers for seen in elsewhere.seen
    )
    assert all(TOKEN not in output for output in result.forms.values())
