"""``--endpoint`` and ``--timeout``: how verbs reach a source that is not a local folder."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from zoo.remote.address import Remote
from zoo.sources import Sources


def remote_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options ``endpoint`` and ``timeout``."""
    endpoint = click.option(
        "--endpoint",
        default="",
        metavar="URL",
        help="The hub of hf:// sources.  [default: $HF_ENDPOINT, else huggingface.co]",
    )
    timeout = click.option(
        "--timeout",
        type=click.FloatRange(min=0, max=86400, min_open=True),
        callback=_number,
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="How long a remote source may take.",
    )
    return endpoint(timeout(command))


def _number(context: click.Context, option: click.Parameter, value: float) -> float:
    """NaN is in every range, as a comparison sees it."""
    if math.isnan(value):
        raise click.BadParameter("nan is no number of seconds", context, option)
    return value


def open_sources(endpoint: str, timeout: float) -> Sources:
    """Sources that may be remote. They are closed when the command ends."""
    return click.get_current_context().with_resource(Sources(Remote(endpoint, timeout)))
