"""The library of the extra ``sign``, which may not be installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from zoo.errors import ZooError


class MissingLibraryError(ZooError):
    """The extra ``sign`` is not installed, so that nothing can be signed or checked."""


@contextmanager
def library() -> Iterator[None]:
    """For a block of imports.

    Raises:
        MissingLibraryError: one of them is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise MissingLibraryError(
            f"signatures need a library that is not here ({error.name})",
            hint="install it: pip install 'draft-zoo[sign]'",
        ) from None
