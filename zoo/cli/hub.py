"""``zoo hub``: a hub of one's own, for tests or for a zoo on one's own machines."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from zoo.cli.app import App
from zoo.errors import UsageError
from zoo.printable import printable

_DIR = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))


@click.group("hub")
def command() -> None:
    """A hub of one's own: the Hugging Face Hub's HTTP contract over a directory.

    It works with huggingface_hub and hf: set HF_ENDPOINT to its address, HF_TOKEN to a token that
    zoo hub user add printed, and HF_HUB_DISABLE_XET=1.
    """


@command.command("serve")
@_DIR
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free one."
)
@click.option("--public-url", metavar="URL", default="", help="The address of a proxy (TLS) in front of it.")
@click.pass_obj
def serve_command(app: App, folder: Path, host: str, port: int, public_url: str) -> int:
    """Serve the hub in DIR, which is made if it is not there.

    The address is printed once it answers; every request is a line on stderr. One server at a time serves a
    directory. It may be killed at any time: what it acknowledged is there.
    """
    try:
        from zoo.hub import serve
    except ImportError as error:
        raise _no_extra() from error

    def ready(url: str) -> None:
        app.out(f"zoo hub: {printable(str(folder))} at {url}")
        sys.stdout.flush()
        if host not in ("127.0.0.1", "::1", "localhost") and not public_url:
            app.note(
                "tokens travel in clear text: put a proxy with TLS in front, and name it with --public-url"
            )

    serve.serve(folder.expanduser(), host, port, public_url, ready)
    return 0


@command.group("user")
def user_command() -> None:
    """Users and their tokens. A running server takes note of every change."""


@user_command.command("add")
@_DIR
@click.argument("name")
@click.option("--org", "orgs", metavar="ORG", multiple=True, help="An organization of the user; repeatable.")
@click.option("--read-only", is_flag=True, help="The token may read only.")
@click.pass_obj
def add_command(app: App, folder: Path, name: str, orgs: tuple[str, ...], read_only: bool) -> int:
    """Make a user, or one more token for one, and print the token.

    It is printed this once: DIR holds only its sha256.
    """
    from zoo.hub.users import open_users

    users = open_users(folder.expanduser())
    token, identifier = users.add(name, orgs, "read" if read_only else "write")
    app.out(token)
    app.note(f"token {identifier} of {name}; to revoke it: zoo hub user revoke DIR {name} {identifier}")
    return 0


@user_command.command("list")
@_DIR
@click.pass_obj
def list_command(app: App, folder: Path) -> int:
    """Users, organizations and the ids of tokens."""
    from zoo.hub.users import open_users

    for user in open_users(folder.expanduser()).all():
        orgs = f"  (in {', '.join(user.orgs)})" if user.orgs else ""
        app.out(printable(f"{user.name}{orgs}"))
        for token in user.tokens:
            app.out(printable(f"  token {token['id']}: {token['role']}"))
    return 0


@user_command.command("revoke")
@_DIR
@click.argument("name")
@click.argument("token_id")
@click.pass_obj
def revoke_command(app: App, folder: Path, name: str, token_id: str) -> int:
    """Make the token TOKEN_ID of a user invalid."""
    from zoo.hub.users import open_users

    open_users(folder.expanduser()).revoke(name, token_id)
    app.note(f"token {printable(token_id)} of {printable(name)} is invalid")
    return 0


def _no_extra() -> UsageError:
    return UsageError("zoo hub serve needs starlette and uvicorn", hint="pip install 'draft-zoo[hub]'")
