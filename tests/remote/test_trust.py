"""Whom the tool talks to, and what it tells them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.conftest import Ran
from tests.corpus.kit import WEIGHTS, good_recipe
from tests.remote.conftest import TOKEN
from tests.remote.hub import REPO, Folder, Hub, Reply, Seen, Server, serve
from zoo.errors import UnreadableError
from zoo.remote.address import HubAddress, Remote, SiteAddress, address_of
from zoo.remote.source import opened
from zoo.sources import Sources
from zoo.verify import verify_recipe
from zoo.workspace import find_zoo

SOURCE = f"hf://{REPO}@v1.0.0"
RunZoo = Callable[..., Ran]


def refused(source: str, endpoint: str = "", *, typed: bool = True, allowed: tuple[str, ...] = ()) -> str:
    with (
        pytest.raises(UnreadableError) as raised,
        opened(source, Remote(endpoint, 1.0, allowed), typed=typed),
    ):
        pass
    return f"{raised.value.message} -> {raised.value.hint}"


def test_the_token_goes_to_the_hub_and_to_nobody_else(hub: Server, storage: Server) -> None:
    with opened(SOURCE, Remote(hub.url)):
        pass
    assert {seen.headers.get("authorization") for seen in hub.seen} == {f"Bearer {TOKEN}"}
    assert storage.seen
    assert all("authorization" not in seen.headers for seen in storage.seen)
    assert all(TOKEN not in value for seen in storage.seen for value in seen.headers.values())


def test_the_token_does_not_go_to_a_site(site: Server) -> None:
    with opened(site.url, Remote()):
        pass
    assert site.seen
    assert all(TOKEN not in value for seen in site.seen for value in seen.headers.values())


def test_nobody_learns_of_a_token_that_is_no_header(
    hub: Server, monkeypatch: pytest.MonkeyPatch, run_zoo: RunZoo
) -> None:
    for token in ("hf_with\x07a_bell", "hf_with_\u20ac", "hf_with\u202ea"):
        monkeypatch.setenv("HF_TOKEN", token)
        ran = run_zoo("verify", SOURCE, "--endpoint", hub.url, "--timeout", 0.3)
        assert ran.status == 2
        assert "the token holds characters that cannot be sent" in ran.err
        assert "hf_with" not in ran.err + ran.out
    assert not hub.seen


def test_bytes_are_asked_for_as_they_are(hub: Server, storage: Server) -> None:
    with opened(SOURCE, Remote(hub.url)):
        pass
    assert {seen.headers["accept-encoding"] for seen in hub.seen + storage.seen} == {"identity"}


def redirect(to: str) -> Callable[[Seen], Reply | None]:
    return lambda seen: Reply(302, {"Location": to})


def test_a_site_may_redirect_within_itself(draft: Path) -> None:
    folder = Folder(draft)

    def moved(seen: Seen) -> Reply:
        if seen.path.startswith("/new/"):
            return folder(Seen(seen.path.removeprefix("/new"), "", seen.headers))
        return Reply(307, {"Location": f"/new{seen.path}"})

    with serve(moved) as site, opened(site.url, Remote()) as checkpoint:
        assert len(checkpoint.tensors) == 25


def test_a_site_may_not_redirect_to_another_port(site: Server, storage: Server) -> None:
    site.fault = redirect(f"{storage.url}/config.json?X-Signature=secret")
    told = refused(site.url)
    assert f'a redirect to another host, "{storage.url}"' in told
    assert "secret" not in told
    assert not storage.seen


def test_the_api_of_a_hub_may_not_redirect_to_another_port(hub: Server, storage: Server) -> None:
    hub.fault = redirect(f"{storage.url}/{REPO}")
    assert "a redirect to another host" in refused(SOURCE, hub.url)
    assert not storage.seen


def test_a_renamed_repository_is_followed_with_the_token(draft: Path) -> None:
    inner = Hub(draft)

    def renamed(seen: Seen) -> Reply:
        if "/old/" in seen.path:
            return Reply(307, {"Location": f"{seen.path.replace('/old/', '/')}?{seen.query}"})
        return inner(seen)

    def old(seen: Seen) -> Reply:
        path = seen.path.replace("zoo-tests/former", REPO)
        return Reply(307, {"Location": f"{path}?{seen.query}"}) if path != seen.path else inner(seen)

    with serve(old) as hub, opened("hf://zoo-tests/former", Remote(hub.url)) as checkpoint:
        assert len(checkpoint.tensors) == 25
        assert all("authorization" in seen.headers for seen in hub.seen)


# Before its version 2, the client of huggingface_hub takes it for a broken answer.
NO_URL = ("a redirect to nowhere", "the connection broke (RemoteProtocolError)")
REDIRECTS: dict[str, tuple[str, str | tuple[str, ...]]] = {
    "plain http": ("http://example.com/x", "which is not https to another machine"),
    "a file": ("file:///etc/passwd", "redirect to nowhere"),
    "ftp": ("ftp://example.com/x", "which is not https to another machine"),
    "a password": ("https://user:secret@example.com/x", "a redirect with a password in it"),
    "nowhere": ("", "a redirect to nowhere"),
    "no URL": ("https://[::1", NO_URL),
}


@pytest.mark.parametrize("name", REDIRECTS)
@pytest.mark.parametrize("kind", ["hub", "site"])
def test_a_redirect_that_leads_astray_is_refused(name: str, kind: str, hub: Server, site: Server) -> None:
    location, cause = REDIRECTS[name]
    server = hub if kind == "hub" else site
    server.fault = lambda seen: Reply(302, {"Location": location}) if seen.name == WEIGHTS else None
    told = refused(SOURCE, hub.url) if kind == "hub" else refused(site.url)
    assert any(each in told for each in ([cause] if isinstance(cause, str) else cause))
    assert "secret" not in told


def test_an_endless_redirect_is_refused(hub: Server) -> None:
    hub.fault = lambda seen: Reply(302, {"Location": seen.path}) if seen.name == WEIGHTS else None
    assert "too many redirects" in refused(SOURCE, hub.url)


ADDRESSES = {
    "http://example.com/draft/": "is not https",
    "ftp://example.com/draft/": "is not https",
    "file:///etc/": "is no URL",
    "https:///draft": "is no URL",
    "https://user:secret@example.com/draft/": "with a user name or a password in it",
    "https://secret@example.com/": "with a user name or a password in it",
    "https://example.com/draft/?token=secret": "with a query or a fragment",
    "https://example.com/draft/#secret": "with a query or a fragment",
    "https://[::1/secret": "is no URL",
    "https://exa mple.com/": "is no URL",
    "hf://owner": "is not the address of a model repository",
    "hf://datasets/owner/name": "is not the address of a model repository",
    "hf://owner/name@": "is not the address of a model repository",
    "hf://owner/..@main": "is not the address of a model repository",
    "hf://owner/name@../../x": "is not the address of a model repository",
    "hf://owner/name@a b": "is not the address of a model repository",
    "hf://owner/name?x": "is not the address of a model repository",
}


@pytest.mark.parametrize("source", ADDRESSES)
def test_an_address_that_must_not_be_contacted_is_refused(source: str, run_zoo: RunZoo) -> None:
    ran = run_zoo("verify", source)
    assert ran.status == 2
    assert ADDRESSES[source] in ran.err
    assert "secret" not in ran.err + ran.out


@pytest.mark.parametrize(
    ("endpoint", "cause"),
    [
        ("http://example.com", "is not https"),
        ("example.com", "is no URL"),
        ("https://user:secret@example.com", "with a user name or a password"),
    ],
)
def test_an_endpoint_is_an_address_too(endpoint: str, cause: str) -> None:
    told = refused(SOURCE, endpoint)
    assert cause in told
    assert "secret" not in told


def test_addresses_are_understood() -> None:
    hub = address_of("hf://owner/na.me@refs/pr/2", Remote("https://hub.example.com/"), typed=True)
    assert hub == HubAddress("https://hub.example.com", "owner/na.me", "refs/pr/2")
    assert address_of("hf://owner/name", Remote("https://h"), typed=True) == HubAddress(
        "https://h", "owner/name", "main"
    )
    assert address_of("https://h/a", Remote(), typed=True) == SiteAddress("https://h/a/")
    assert address_of("http://127.0.0.1:8/a/", Remote(), typed=True) == SiteAddress("http://127.0.0.1:8/a/")


def test_a_revision_with_a_slash_is_quoted(draft: Path) -> None:
    inner = Hub(draft)

    def pull_request(seen: Seen) -> Reply:
        listing = seen.path == f"/api/models/{REPO}/revision/refs%2Fpr%2F2"
        return inner(Seen(f"/api/models/{REPO}/revision/main", "", {})) if listing else inner(seen)

    with serve(pull_request) as hub, opened(f"hf://{REPO}@refs/pr/2", Remote(hub.url)) as checkpoint:
        assert len(checkpoint.tensors) == 25


def recipe_that_names(draft: Path, source: str, settings: str = "") -> Path:
    good_recipe(draft)
    recipe = draft.parent / "recipes" / "draft.yaml"
    recipe.write_text(recipe.read_text().replace("source: ./draft", f"source: {source}"))
    (draft.parent / "zoo.toml").write_text(settings)
    return draft.parent


def test_a_recipe_may_not_name_a_host_that_nobody_allowed(draft: Path) -> None:
    zoo = find_zoo(recipe_that_names(draft, "https://evil.example.com/draft/"))
    with Sources(Remote(timeout=1.0)) as sources:
        report = verify_recipe(zoo, "draft", sources=sources).report
    assert report.exit_status == 2
    reason = next(result.reason for result in report.not_checked if result.code == "C001")
    assert "its host is not allowed by the settings" in reason
    assert "--checkpoint URL" in reason


def test_a_host_of_the_settings_or_of_the_user_may_be_contacted(site: Server) -> None:
    # By a recipe's words alone: the schema of recipes wants https, which a test server does not speak.
    with opened(site.url, Remote(allowed=(f"{site.url}/",)), typed=False) as checkpoint:
        assert len(checkpoint.tensors) == 25
    with opened(site.url, Remote(), typed=True):
        pass
    other = site.url.replace("127.0.0.1", "localhost")
    assert "not allowed" in refused(other, typed=False, allowed=(site.url,))


def test_the_settings_name_endpoints(draft: Path) -> None:
    zoo = find_zoo(recipe_that_names(draft, "./draft", 'endpoints = ["https://hub.example.com"]\n'))
    assert zoo.endpoints == ("https://hub.example.com",)


@pytest.mark.parametrize("value", ['"https://h"', "[1]", '["a\\u202eb"]', "{}"])
def test_endpoints_are_a_list_of_lines(value: str, draft: Path, run_zoo: RunZoo) -> None:
    zoo = recipe_that_names(draft, "./draft", f"endpoints = {value}\n")
    ran = run_zoo("--zoo", zoo, "list")
    assert ran.status == 2
    assert "setting endpoints is not a list of lines of text" in ran.err


def test_an_endpoint_of_the_environment_that_is_no_url_is_called_by_its_name(
    run_zoo: RunZoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "foo")
    ran = run_zoo("verify", "hf://owner/name")
    assert (ran.status, "HF_ENDPOINT is no URL" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("typed", "advice"),
    [(True, "unset it, or name a local folder instead"), (False, "unset it, or add --checkpoint FOLDER")],
)
def test_offline_a_source_that_was_typed_is_to_be_typed_again(
    monkeypatch: pytest.MonkeyPatch, typed: bool, advice: str
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UnreadableError) as raised:
        address_of(SOURCE, Remote(), typed=typed)
    assert raised.value.hint == advice
