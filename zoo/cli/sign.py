"""``zoo sign FILE``: sign one file, such as a record of evidence."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.cli.app import App
from zoo.cli.keys import key_to_sign
from zoo.printable import quoted


@click.command("sign")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--key", required=True, metavar="FILE", help="The private key (EC, PEM).")
@click.option("--certificate", metavar="FILE", help="Its certificate, then those that issued it (PEM).")
@click.pass_obj
def command(app: App, file: Path, key: str, certificate: str | None) -> None:
    """Sign FILE; the signature is written to FILE.sig, and the same key gives the same one each time.

    A zoo with signers counts a record of evidence only with the signature of one of them.
    """
    from zoo.atomic import write_atomically
    from zoo.digests import sha256_file
    from zoo.trust.policy import SUFFIX
    from zoo.trust.signing import ITSELF, sign

    signing = key_to_sign(key, certificate)
    sha256 = sha256_file(file)
    out = file.with_name(file.name + SUFFIX)
    write_atomically(out, sign(file.name, {ITSELF: sha256}, signing))
    app.out(f"signed {quoted(str(file))} (sha256 {sha256}): {quoted(out.name)} beside it")
