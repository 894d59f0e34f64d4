"""Whether output goes to a terminal, and may have colors."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TextIO


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal."""
    try:
        return stream.isatty()
    except ValueError:  # it is closed
        return False


def decorated() -> bool:
    """Return whether stdout may have colors: it is a terminal, and rich is installed."""
    return (
        is_terminal(sys.stdout)
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
        and find_spec("rich") is not None
    )


def printable(text: str) -> str:
    """Return a text of the cluster in one line, without characters that control a terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
