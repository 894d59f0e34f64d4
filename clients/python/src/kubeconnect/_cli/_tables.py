"""Tables: columns aligned as kubectl's, or by rich on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from kubeconnect._cli._terminal import decorated, printable

_GAP = 3
_MAX_DECORATED_ROWS = 500
"""rich takes a millisecond for each row."""

_STYLES = {
    "green": "Running Ready Active Bound Complete Completed Succeeded Available True ADDED",
    "yellow": "Pending Terminating ContainerCreating PodInitializing Warning MODIFIED",
    "red": "Failed Error CrashLoopBackOff ImagePullBackOff ErrImagePull OOMKilled Evicted Unknown "
    "NotReady Lost DELETED",
}
_STYLE_OF = {word: style for style, words in _STYLES.items() for word in words.split()}


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[Any]], *, headers: bool = True
) -> None:
    """Print rows of JSON values below their headings."""
    texts = [[cell_text(cell) for cell in row] for row in rows]
    if decorated() and len(texts) <= _MAX_DECORATED_ROWS:
        _print_decorated(headings, texts, headers)
        return
    table = AlignedTable(headings, headers=headers)
    sys.stdout.write("".join(table.lines(texts)))


def cell_text(value: Any) -> str:
    """Return a JSON value as a cell."""
    if value is None:
        return "<none>"
    if isinstance(value, str):
        first, *more = value.split("\n")
        return printable(first) + ("..." if any(more) else "")
    return printable(json.dumps(value))


class AlignedTable:
    """Lines of aligned columns. Later rows keep the widths of earlier ones, or are wider."""

    def __init__(self, headings: Sequence[str], *, headers: bool = True) -> None:
        """Begin with the headings, unless ``headers`` is False."""
        self._pending = [list(headings)] if headers else []
        self._widths = [0] * len(headings)

    def lines(self, rows: Iterable[Iterable[str]]) -> list[str]:
        """Return the lines of further rows, after that of the headings."""
        cells = [*self._pending, *map(list, rows)]
        self._pending = []
        for row in cells:
            self._widths = [
                max(width, len(cell)) for width, cell in zip(self._widths, row, strict=True)
            ]
        return [self._line(row) for row in cells]

    def _line(self, row: Sequence[str]) -> str:
        columns = zip(row, self._widths, strict=True)
        return "".join(cell.ljust(width + _GAP) for cell, width in columns).rstrip() + "\n"


def style_of(cell: str) -> str:
    """Return the color of a status; empty for any other text."""
    return _STYLE_OF.get(cell.partition(",")[0], "")


def _print_decorated(headings: Sequence[str], rows: Sequence[Sequence[str]], headers: bool) -> None:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=headers, padding=(0, _GAP, 0, 0))
    for heading in headings:
        table.add_column(Text(heading, "bold"), no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell, style_of(cell)) for cell in row))
    console = Console(file=sys.stdout, highlight=False)
    # The terminal wraps lines that are too long. Nothing is shortened, so that it can be copied.
    widths = [max(map(cell_len, column)) + _GAP for column in zip(headings, *rows, strict=True)]
    console.width = max(console.width, sum(widths))
    console.print(table, crop=False)
