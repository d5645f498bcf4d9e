"""``zoo diff``: what differs between two drafts."""

from __future__ import annotations

import click

from zoo.cli.app import App, format_option
from zoo.cli.progress import bytes_read
from zoo.cli.remote import open_sources, remote_options
from zoo.diff.values import finite
from zoo.errors import ZooError


@click.command("diff")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--deep", is_flag=True, help="Read every byte, and compare the numbers of every tensor.")
@remote_options
@format_option("text", "json", "markdown")
@click.pass_obj
def command(app: App, a: str, b: str, deep: bool, endpoint: str, timeout: float, form: str) -> int:
    """Compare two drafts: recipe, config keys, tensors, files and, with --deep, numbers.

    A and B are each a recipe NAME, a release NAME@VERSION, a folder, hf://OWNER/NAME@REVISION or
    https://HOST/FOLDER/. Without --deep only headers and small files are read, also of remote ones.

    Exit status: 0 no difference, 1 some difference, 2 something could not be compared.
    """
    from zoo.diff.compare import compare
    from zoo.diff.run import deep_diff
    from zoo.diff.sides import open_side

    sources = open_sources(endpoint, timeout)
    try:
        one, two = (open_side(each, lambda: app.zoo, sources, endpoint) for each in (a, b))
    except ZooError as error:
        error.exit_status = 2  # 1 would say that the two differ
        raise
    if deep:
        with bytes_read() as tell:
            found = deep_diff(one, two, tell)
    else:
        found = compare(one, two)
    if form == "json":
        app.json(finite(found.as_json()))
    elif form == "markdown":
        from zoo.diff import markdown

        click.echo(markdown.render(found), nl=False)
    else:
        from zoo.diff import text

        app.out(text.render(found))
    return found.exit_status
