"""Tables for notebooks.

The colors are those of the notebook, so that the tables are readable in light and dark themes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

MAX_ROWS = 20
"""The maximum number of rows of a list that are shown."""

# The rules of JupyterLab for tables (centered, cells to the right) are less specific than these.
_STYLE = """<style>
.kubeconnect table { border-collapse: collapse; margin: 0; table-layout: auto; }
.kubeconnect table caption { caption-side: top; text-align: left; padding: 0 0 0.5em;
  font-weight: 600; color: inherit; white-space: nowrap; }
.kubeconnect table th, .kubeconnect table td { text-align: left; vertical-align: top;
  padding: 0.3em 1.5em 0.3em 0.5em; border: 0 solid rgba(128, 128, 128, 0.25);
  border-bottom-width: 1px; max-width: 45em; overflow-wrap: break-word; }
.kubeconnect table thead th { font-weight: 600; white-space: nowrap;
  border-bottom-color: rgba(128, 128, 128, 0.6); }
.kubeconnect table tbody th { font-weight: 400; opacity: 0.7; white-space: nowrap; }
.kubeconnect table .number { text-align: right; font-variant-numeric: tabular-nums; }
.kubeconnect p { margin: 0.5em 0 0; opacity: 0.8; }
</style>"""


def html_table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    notes: Iterable[str] = (),
) -> str:
    """Return a table in HTML, with texts below it."""
    rows = list(rows)
    numeric = [_is_numeric([row[index] for row in rows]) for index in range(len(headings))]
    head = "".join(map(_heading, headings, numeric))
    body = "".join(f"<tr>{''.join(map(_cell, row, numeric))}</tr>" for row in rows)
    content = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>" if headings else ""
    return _html(caption, content, notes)


def html_properties(caption: str, properties: Iterable[tuple[str, object]]) -> str:
    """Return a table in HTML with a row for each name and value. A tuple has a line for each
    of its elements.
    """
    rows = (
        f'<tr><th scope="row">{_escape(name)}</th>{_cell(each)}</tr>' for name, each in properties
    )
    return _html(caption, f"<tbody>{''.join(rows)}</tbody>", ())


def without_empty(
    headings: Sequence[str], rows: Iterable[Sequence[object]]
) -> tuple[list[str], list[list[object]]]:
    """Return the headings and rows without the columns in which no row has a value."""
    rows = list(rows)
    kept = [index for index in range(len(headings)) if any(row[index] for row in rows)]
    return [headings[index] for index in kept], [[row[index] for index in kept] for row in rows]


def _html(caption: str, content: str, notes: Iterable[str]) -> str:
    below = "".join(f"<p>{_escape(note)}</p>" for note in notes)
    table = f"<table><caption>{_escape(caption)}</caption>{content}</table>"
    return f'<div class="kubeconnect">{_STYLE}{table}{below}</div>'


def _heading(text: str, is_numeric: bool) -> str:
    number = ' class="number"' if is_numeric else ""
    return f'<th scope="col"{number}>{_escape(text)}</th>'


def _cell(value: object, is_numeric: bool = False) -> str:
    return f'<td class="number">{_text(value)}</td>' if is_numeric else f"<td>{_text(value)}</td>"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return "<br>".join(map(_text, value))
    if isinstance(value, datetime):
        return _escape(value.isoformat(" ", "seconds").replace("+00:00", " UTC"))
    return "" if value is None else _escape(str(value))


def _escape(text: str) -> str:
    from html import escape  # slow to import

    return escape(text)


def _is_numeric(cells: Iterable[object]) -> bool:
    types = {type(cell) for cell in cells if cell is not None}
    return bool(types) and types <= {int, float}
