"""Reading what ``get`` prints: the objects of several targets, or their tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from kubeconnect import KubeconnectError, Object, Table
from kubeconnect._cli._failures import note, report, warn
from kubeconnect._cli._objects import object_name
from kubeconnect._cli._progress import progress
from kubeconnect._cli._rows import Query, Rows, cells_of, headings_of, read_row, read_rows
from kubeconnect._cli._session import Session
from kubeconnect._cli._tables import print_table
from kubeconnect._cli._targets import Target


class Getting:
    """Reads targets, and notes whether one of their objects could not be read."""

    def __init__(self, session: Session, query: Query, ignore_not_found: bool) -> None:
        """Read with the selection of ``query``."""
        self._session = session
        self._query = query
        self._ignore_not_found = ignore_not_found
        self.failed = False

    def _query_of(self, target: Target) -> Query:
        everywhere = self._query.selection.all_namespaces and not target.names
        namespace = self._session.namespace_of(target.resource, everywhere)
        return replace(self._query, resource=target.resource, namespace=namespace)

    def _named(self, target: Target, read: Callable[[str], Any]) -> Iterator[Any]:
        """Yield what is read of each name, and report the names that fail."""
        for name in target.names:
            try:
                yield read(name)
            except KubeconnectError as error:
                if error.reason == "NotFound" and self._ignore_not_found:
                    continue
                report(error)
                self.failed = True

    def objects(self, targets: Sequence[Target], fields: Sequence[str] | None) -> Iterator[Object]:
        """Yield the objects of all targets. ``fields`` are the paths to read; None for all."""
        for target in targets:
            yield from self._objects(target, self._query_of(target), fields)

    def _objects(
        self, target: Target, query: Query, fields: Sequence[str] | None
    ) -> Iterator[Object]:
        client, namespace = self._session.client, query.namespace
        if target.names:
            yield from self._named(
                target,
                lambda name: client.get(
                    target.resource,
                    name,
                    namespace=namespace,
                    fields=fields,
                    consistency=query.consistency,
                ),
            )
            return
        listed = client.list(
            target.resource,
            namespace=namespace,
            **query.selection.arguments(),
            order_by=query.sort_by,
            page_size=query.limit,
            consistency=query.consistency,
            fields=fields,
        )
        warn(listed.warnings)
        total = listed.total if query.limit is None else min(query.limit, listed.total)
        yield from progress(islice(listed, query.limit), target.resource, total)

    def print_tables(self, targets: Sequence[Target], *, wide: bool, headers: bool) -> None:
        """Print a table for each target."""
        empty = True
        for target in targets:
            query = self._query_of(target)
            rows = self._rows(target, query)
            if rows is None:
                continue
            warn(rows.warnings)
            if rows.rows:
                if not empty and headers:
                    sys.stdout.write("\n")
                empty = False
                prefix = object_name(rows.resource, "") if len(targets) > 1 else ""
                _print_rows(rows, query, wide, headers, prefix)
        if empty and not self.failed:
            namespaced = any(self._query_of(target).namespace for target in targets)
            where = f" in namespace {self._session.namespace}" if namespaced else ""
            note(f"No resources found{where}.")

    def _rows(self, target: Target, query: Query) -> Rows | None:
        client = self._session.client
        if not target.names:
            return read_rows(client, query)
        tables: list[Table] = list(
            self._named(
                target, lambda name: read_row(client, target.resource, name, query.namespace)
            )
        )
        if not tables:
            return None
        rows = [row for table in tables for row in table]
        return Rows(tables[0].resource, tables[0].columns, rows, tables[0].warnings)


def _print_rows(rows: Rows, query: Query, wide: bool, headers: bool, prefix: str) -> None:
    namespaces = rows.resource.namespaced and query.namespace is None
    print_table(
        headings_of(rows.columns, wide=wide, namespaces=namespaces),
        [
            cells_of(row, rows.columns, wide=wide, namespaces=namespaces, prefix=prefix)
            for row in rows.rows
        ],
        headers=headers,
    )
