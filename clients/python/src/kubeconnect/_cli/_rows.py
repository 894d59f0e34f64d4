"""Rows of the API server's tables for a selection, some of which the API server cannot select."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kubeconnect import Client, Forbidden, Resource, Table, TableColumn, TableRow
from kubeconnect._cli._options import Selection
from kubeconnect._cli._progress import progress
from kubeconnect._cli._terminal import printable
from kubeconnect._reads import ConsistencyLike

Key = tuple[str | None, str]

_FEW = 10
"""How many rows are read one by one instead of with all others."""
_PAGE = 500
"""The maximum number of rows in a page."""


@dataclass(frozen=True)
class Query:
    """What to read."""

    resource: str
    namespace: str | None
    selection: Selection
    sort_by: str | None = None
    limit: int | None = None
    consistency: ConsistencyLike = "cached"


@dataclass
class Rows:
    """A complete table."""

    resource: Resource
    columns: tuple[TableColumn, ...]
    rows: list[TableRow]
    warnings: tuple[str, ...] = ()


def read_rows(client: Client, query: Query) -> Rows:
    """Return the rows of a selection, in its order."""
    if query.selection.filter or query.sort_by:
        return _rows_of_matches(client, query)
    tables, warnings = _tables(client, query, page_size=min(query.limit or _PAGE, _PAGE))
    rows = progress((row for table in tables for row in table), query.resource)
    return _collect(tables, islice(rows, query.limit), warnings)


def read_rows_of(client: Client, query: Query, keys: Sequence[Key]) -> Rows:
    """Return the rows of some objects, in this order. Those that do not exist are left out."""
    if 0 < len(keys) <= _FEW:
        tables = [
            client.table(
                query.resource, namespace=namespace, field_selector=f"metadata.name={name}"
            )
            for namespace, name in keys
        ]
        return _collect(tables, (row for table in tables for row in table))
    tables, warnings = _tables(client, query, page_size=_PAGE if keys else 1)
    wanted = set(keys)
    found: dict[Key, TableRow] = {}
    if not keys:
        return _collect(tables, (), warnings)
    for row in progress((row for table in tables for row in table), query.resource):
        key = (row.namespace, row.name)
        if key in wanted:
            found[key] = row
            if len(found) == len(wanted):
                break
    return _collect(tables, [found[key] for key in keys if key in found])


def read_row(client: Client, resource: str, name: str, namespace: str | None) -> Table:
    """Return the table of one object. Raises NotFound if it does not exist."""
    return client.table(resource, name=name, namespace=namespace)


def _rows_of_matches(client: Client, query: Query) -> Rows:
    matches = client.list(
        query.resource,
        namespace=query.namespace,
        **query.selection.arguments(),
        order_by=query.sort_by,
        page_size=query.limit,
        consistency=query.consistency,
        metadata_only=True,
    )
    total = matches.total if query.limit is None else min(matches.total, query.limit)
    objects = progress(islice(matches, query.limit), query.resource, total)
    rows = read_rows_of(client, query, [(each.namespace, each.name) for each in objects])
    rows.warnings = tuple(dict.fromkeys([*matches.warnings, *rows.warnings]))
    return rows


def _tables(client: Client, query: Query, *, page_size: int) -> tuple[list[Table], tuple[str, ...]]:
    """Return the table of the selection, or one for each namespace that the caller may list, and
    a warning of these.
    """
    options: dict[str, Any] = {
        "label_selector": query.selection.label_selector,
        "field_selector": query.selection.field_selector,
        "page_size": page_size,
    }
    try:
        return [client.table(query.resource, namespace=query.namespace, **options)], ()
    except Forbidden:
        if query.namespace:
            raise
        allowed = client.count(query.resource)
        if not allowed.namespaces:
            raise
    tables = [
        client.table(query.resource, namespace=each, **options) for each in allowed.namespaces
    ]
    return tables, allowed.warnings


def _collect(
    tables: Sequence[Table], rows: Iterable[TableRow], warnings: tuple[str, ...] = ()
) -> Rows:
    found = dict.fromkeys([*warnings, *(each for table in tables for each in table.warnings)])
    return Rows(tables[0].resource, tables[0].columns, list(rows), tuple(found))


def headings_of(columns: Sequence[TableColumn], *, wide: bool, namespaces: bool) -> list[str]:
    """Return the headings as kubectl prints them."""
    shown = [printable(each.name).upper() for each in columns if wide or each.priority == 0]
    return ["NAMESPACE", *shown] if namespaces else shown


def cells_of(
    row: TableRow,
    columns: Sequence[TableColumn],
    *,
    wide: bool,
    namespaces: bool,
    prefix: str = "",
) -> list[Any]:
    """Return the cells below the headings. ``prefix`` is the kind, "pod/", before the name."""
    return list(_cells(row, columns, wide, namespaces, prefix))


def _cells(
    row: TableRow, columns: Sequence[TableColumn], wide: bool, namespaces: bool, prefix: str
) -> Iterator[Any]:
    if namespaces:
        yield row.namespace
    for column, cell in zip(columns, row.cells, strict=False):
        if wide or column.priority == 0:
            yield f"{prefix}{cell}" if prefix and column.format == "name" else cell
