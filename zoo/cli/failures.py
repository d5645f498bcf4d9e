"""An exception as one clear message on stderr, with the next action, and the exit status that fits."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress

import click

from zoo.cli import INTERRUPTED
from zoo.errors import InvalidRecipeError, ZooError
from zoo.printable import printable

# What a shell sees of a tool that SIGPIPE ended. Not 0: nobody knows what the unread rest would have said.
PIPE_CLOSED = 141
# Shorter values of variables called *TOKEN* are settings (HF_HUB_DISABLE_IMPLICIT_TOKEN=1), not secrets.
_TOKEN_LENGTH = 8

_NEXT_ACTION = {
    errno.ENOSPC: "free some space, or name another place",
    errno.EDQUOT: "free some space, or name another place",
    errno.EFBIG: "the disk or a limit (ulimit -f) does not allow files of this size: name another place",
    errno.EROFS: "the disk is read-only: name a place that can be written to",
    errno.EACCES: "check the permissions of this file and its folder",
    errno.EPERM: "check the permissions of this file and its folder",
    errno.ENOENT: "check the path",
    errno.ENAMETOOLONG: "use a shorter name",
}


def explain(error: BaseException) -> int:
    """Print what went wrong and return the exit status. An unknown exception is a bug: it shows its
    traceback."""
    match error:
        case KeyboardInterrupt() | click.Abort():
            _say("interrupted", "")
            return INTERRUPTED
        case click.exceptions.Exit():
            return int(error.exit_code)
        case click.ClickException():
            said = io.StringIO()
            error.show(said)
            click.echo(printable(said.getvalue()), err=True, nl=False)
            if isinstance(error, click.NoSuchOption) and error.option_name == "--zoo":
                click.echo("  -> --zoo goes before the command: zoo --zoo FOLDER COMMAND", err=True)
            return 2
        case InvalidRecipeError():
            from zoo.report.text import finding_lines

            for finding in error.findings:
                click.echo("\n".join(finding_lines(finding)), err=True)
            _say(error.message, error.hint)
            return error.exit_status
        case ZooError():
            _say(error.message, error.hint)
            return error.exit_status
        case BrokenPipeError():
            # The reader went away (| head): quiet, as other tools are. See docs.python.org, signal, "Note
            # on SIGPIPE".
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return PIPE_CLOSED
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            if error.errno == errno.ENOSPC and not where:
                where = "a file or the output: "
            _say(f"{where}{error.strerror or error}", _NEXT_ACTION.get(error.errno or 0, "check the path"))
            return 2
        case Exception(__cause__=KeyboardInterrupt()):  # Python 3.11 wraps it where a class is made
            return explain(KeyboardInterrupt())
    import traceback  # hardly ever needed, and slow to load

    _say_raw("".join(traceback.format_exception(error)))
    _say("this is a fault of the tool itself", "please report it with the lines above")
    return 2


def _say_raw(report: str) -> None:
    """A traceback, which may quote anything, without the tokens of this process and this user."""
    from zoo.release.credentials import hidden

    known = [value for name, value in os.environ.items() if "TOKEN" in name and len(value) >= _TOKEN_LENGTH]
    if "huggingface_hub" in sys.modules:
        from huggingface_hub import get_token

        with suppress(Exception):  # the report of one fault must not end in another
            known.append(get_token() or "")
    click.echo(printable(hidden(report, known)), err=True, nl=False)


def _say(message: str, hint: str) -> None:
    click.echo(f"zoo: {printable(message)}", err=True)
    if hint:
        click.echo(f"  -> {printable(hint)}", err=True)
