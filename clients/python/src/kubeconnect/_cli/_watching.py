"""Following a selection: each change is printed in the format of ``get``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import sleep
from typing import Protocol

from kubeconnect import Client, DeadlineExceeded, TableRow, Unavailable
from kubeconnect._cli._batches import batches
from kubeconnect._cli._changes import Change, latest
from kubeconnect._cli._columns import PREFIX, Columns
from kubeconnect._cli._objects import NAME_FIELDS, as_json, as_yaml, content, object_name
from kubeconnect._cli._rows import Key, Query, Rows, cells_of, headings_of, read_rows_of
from kubeconnect._cli._tables import AlignedTable, cell_text, style_of
from kubeconnect._cli._terminal import decorated

_RETRY_SECONDS = 1.0
_EVENT = "EVENT   "
"""The heading above ADDED, MODIFIED and DELETED, of which the first rows have only one."""


def follow(
    client: Client,
    query: Query,
    name: str | None,
    output: str,
    *,
    initial: bool,
    headers: bool,
) -> None:
    """Print the objects of a selection, unless ``initial`` is False, and each change."""
    printing = _printer_of(client, query, output, headers)
    watch = client.watch(
        query.resource,
        namespace=query.namespace,
        name=name,
        **query.selection.arguments(),
        fields=printing.fields,
    )
    with watch:
        for changes in batches(watch):
            if wanted := [each for each in changes if initial or not each.initial]:
                printing.show(wanted)
                sys.stdout.flush()


class _Printer(Protocol):
    """Prints changes."""

    @property
    def fields(self) -> Sequence[str] | None:
        """The fields that it prints; None for all."""

    def show(self, changes: Sequence[Change]) -> None:
        """Print changes."""


def _printer_of(client: Client, query: Query, output: str, headers: bool) -> _Printer:
    if output.startswith(PREFIX):
        return _ColumnsPrinter(Columns.parse(output), headers=headers)
    if output in ("table", "wide"):
        return _TablePrinter(client, query, wide=output == "wide", headers=headers)
    return _ObjectPrinter(output)


class _ObjectPrinter:
    """Prints a line of JSON, a YAML document or a name for each change."""

    def __init__(self, output: str) -> None:
        self.fields = NAME_FIELDS if output == "name" else None
        self._output = output

    def show(self, changes: Sequence[Change]) -> None:
        sys.stdout.writelines(map(self._text, changes))

    def _text(self, change: Change) -> str:
        if self._output == "name":
            name = object_name(change.object.resource, change.object.name)
            return f"{change.type:<8} {name}\n"
        event = {"type": change.type, "object": content(change.object)}
        return "---\n" + as_yaml(event) if self._output == "yaml" else as_json(event) + "\n"


class _ColumnsPrinter:
    """Prints the columns of each change, from the objects."""

    def __init__(self, columns: Columns, *, headers: bool) -> None:
        self.fields = columns.paths
        self._columns = columns
        self._table = AlignedTable([_EVENT, *columns.headings], headers=headers)

    def show(self, changes: Sequence[Change]) -> None:
        rows = ([each.type, *self._columns.cells(each.object)] for each in changes)
        for line in self._table.lines(map(cell_text, row) for row in rows):
            _write_line(line)


class _TablePrinter:
    """Prints a row for each change. The rows are read from the API server, several at once if
    several objects have changed.
    """

    fields = None

    def __init__(self, client: Client, query: Query, *, wide: bool, headers: bool) -> None:
        self._client = client
        self._query = query
        self._wide = wide
        self._headers = headers
        self._table: AlignedTable | None = None
        self._rows: dict[str, TableRow] = {}  # the last row of each object, by UID

    def show(self, changes: Sequence[Change]) -> None:
        changes = latest(changes)
        keys = [
            (each.object.namespace, each.object.name) for each in changes if each.type != "DELETED"
        ]
        if keys or self._table is None:
            self._read(keys)
        assert self._table is not None
        cells = map(self._cells, changes)
        for line in self._table.lines(row for row in cells if row):
            _write_line(line)

    def _read(self, keys: Sequence[Key]) -> None:
        read = self._rows_of(keys)
        self._rows.update((row.uid, row) for row in read.rows)
        self._columns = read.columns
        self._namespaces = read.resource.namespaced and self._query.namespace is None
        if self._table is None:
            headings = headings_of(read.columns, wide=self._wide, namespaces=self._namespaces)
            self._table = AlignedTable([_EVENT, *headings], headers=self._headers)

    def _rows_of(self, keys: Sequence[Key]) -> Rows:
        """Return the rows of objects. While the service is unreachable, the watch is too."""
        while True:
            try:
                return read_rows_of(self._client, self._query, keys)
            except (Unavailable, DeadlineExceeded):
                sleep(_RETRY_SECONDS)

    def _cells(self, change: Change) -> list[str]:
        """Return the cells of a change; none if the object is gone before it was printed."""
        uid = change.object.uid
        row = self._rows.pop(uid, None) if change.type == "DELETED" else self._rows.get(uid)
        if row is None:
            return []
        cells = cells_of(row, self._columns, wide=self._wide, namespaces=self._namespaces)
        return [change.type, *map(cell_text, cells)]


def _write_line(line: str) -> None:
    event, _, rest = line.partition(" ")
    if not (decorated() and (style := style_of(event))):
        sys.stdout.write(line)
        return
    from rich.console import Console
    from rich.text import Text

    text = Text.assemble((event, style), " ", rest.rstrip("\n"))
    Console(file=sys.stdout, highlight=False, soft_wrap=True).print(text)
