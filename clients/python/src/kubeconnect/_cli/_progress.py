"""The progress of a long list, on stderr if it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

from kubeconnect._cli._terminal import is_terminal

T = TypeVar("T")

_QUIET_SECONDS = 0.5
_INTERVAL_SECONDS = 0.1
_ERASE = "\r\x1b[K"


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, and show their number once they take longer than half a second."""
    if not is_terminal(sys.stderr):
        yield from items
        return
    shown, due, count = False, monotonic() + _QUIET_SECONDS, 0
    try:
        for item in items:
            count += 1
            if monotonic() >= due:
                of = f" of {total:,}" if total else ""
                sys.stderr.write(f"{_ERASE}{count:,}{of} {what} ...")
                sys.stderr.flush()
                shown, due = True, monotonic() + _INTERVAL_SECONDS
            yield item
    finally:
        if shown:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
