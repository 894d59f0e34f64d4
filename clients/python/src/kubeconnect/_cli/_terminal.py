"""Whether output goes to a terminal, and may have colors."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from typing import TextIO

_COLOR = re.compile(r"(\x1b\[[0-9;:]*m)")
_NO_COLOR = "\x1b[0m"


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal."""
    try:
        return stream.isatty()
    except ValueError:  # it is closed
        return False


def has_colors() -> bool:
    """Return whether stdout may have colors: it is a terminal that has them."""
    return (
        is_terminal(sys.stdout)
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def decorated() -> bool:
    """Return whether tables have colors: stdout may have them, and rich is installed."""
    return has_colors() and find_spec("rich") is not None


def printable(text: str) -> str:
    """Return a text in one line, without characters that control a terminal."""
    return text if text.isprintable() else _escaped(text, "")


def visible(text: str) -> str:
    """Return a text in its lines, without other characters that control a terminal."""
    return _escaped(text, "\n\t") if has_control(text) else text


def has_control(text: str) -> bool:
    """Return whether a text has characters that control a terminal, or that are invisible, except
    for tabs and the ends of lines.
    """
    return not text.replace("\n", "").replace("\t", "").isprintable()


def shown(text: str) -> str:
    """Return a text for stdout: on a terminal, without characters that control it."""
    return printable(text) if is_terminal(sys.stdout) else text


def shown_lines(text: str) -> str:
    """Return a text of several lines for stdout, as ``shown``."""
    return visible(text) if is_terminal(sys.stdout) else text


def log_line(line: str) -> str:
    """Return a line of a log for stdout. A terminal gets its colors, which end with the line, and
    no other sequence that controls the terminal. Otherwise the line is unchanged.
    """
    if not is_terminal(sys.stdout) or not has_control(line):
        return line
    parts = _COLOR.split(line.removesuffix("\r"))
    if len(parts) == 1 or not has_colors():
        return "".join(map(visible, parts[::2]))
    colored = (part if index % 2 else visible(part) for index, part in enumerate(parts))
    return "".join(colored) + _NO_COLOR


def _escaped(text: str, kept: str) -> str:
    return "".join(
        each if each.isprintable() or each in kept else repr(each)[1:-1] for each in text
    )
