"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from html import escape

MAX_ROWS = 20
"""The maximum number of rows of a list that are shown."""


def html_table(caption: str, headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in HTML. Without any heading, it has no heading row."""
    headings = tuple(headings)
    head = f"<thead>{_row('th', headings)}</thead>" if any(headings) else ""
    body = "".join(_row("td", row) for row in rows)
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>"


def _row(tag: str, cells: Iterable[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(_text(cell))}</{tag}>" for cell in cells) + "</tr>"


def _text(cell: object) -> str:
    if isinstance(cell, datetime):
        return cell.isoformat(" ", "seconds")
    return "" if cell is None else str(cell)
