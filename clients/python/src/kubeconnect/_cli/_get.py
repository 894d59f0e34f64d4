"""``get`` and ``watch``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import click

from kubeconnect import KubeconnectError, Object, Table
from kubeconnect._cli._failures import FAILED, report
from kubeconnect._cli._objects import NAME_FIELDS, OBJECT_FORMATS, object_name, print_objects
from kubeconnect._cli._options import Selection, selection_options
from kubeconnect._cli._progress import progress
from kubeconnect._cli._rows import Query, Rows, cells_of, headings_of, read_row, read_rows
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._tables import print_table
from kubeconnect._cli._targets import Target, target_arguments, targets_of
from kubeconnect._cli._watching import follow
from kubeconnect._reads import ConsistencyLike

OUTPUTS = ("table", "wide", *OBJECT_FORMATS)

_output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(OUTPUTS),
    default="table",
    show_default=True,
    help="The format. Tables are read from the API server, all others from the cache.",
)
_headers_option = click.option("--no-headers", is_flag=True, help="Print no headings.")


@command("get")
@target_arguments()
@selection_options
@_output_option
@click.option("-w", "--watch", "watches", is_flag=True, help="Follow the changes until Ctrl-C.")
@click.option("--watch-only", is_flag=True, help="Follow the changes, without the objects before.")
@click.option("--sort-by", metavar="PATH", help='A path, also with " desc": .metadata.name.')
@click.option("--limit", type=click.IntRange(1), help="The maximum number of objects.")
@click.option(
    "--consistency",
    type=click.Choice(["cached", "latest"]),
    default="cached",
    show_default=True,
    help="Read from the cache, or from the API server.",
)
@click.option("--ignore-not-found", is_flag=True, help="Objects that do not exist are no error.")
@_headers_option
def get(
    session: Session,
    targets: Sequence[str],
    selection: Selection,
    output: str,
    watches: bool,
    watch_only: bool,
    sort_by: str | None,
    limit: int | None,
    consistency: ConsistencyLike,
    ignore_not_found: bool,
    no_headers: bool,
) -> None:
    """Print objects, and follow their changes with -w.

    \b
      kubeconnect get pods
      kubeconnect get deployments,services -n shop -o wide
      kubeconnect get pod/web-0 node/n1 -o yaml
      kubeconnect get pods -A --filter "object.status.phase != 'Running'"
    """
    found = targets_of(session, targets)
    if selection.selects and any(target.names for target in found):
        raise click.UsageError("give either names or selectors")
    if watches or watch_only:
        if sort_by or limit:
            raise click.UsageError("-w cannot be used with --sort-by or --limit")
        _follow(session, found, selection, output, watch_only, not no_headers)
        return
    query = Query("", None, selection, sort_by, limit, consistency)
    getting = _Getting(session, query, ignore_not_found)
    if output in OBJECT_FORMATS:
        single = [len(target.names) for target in found] == [1]
        print_objects(getting.objects(found, output), output, single=single)
    else:
        getting.print_tables(found, wide=output == "wide", headers=not no_headers)
    if getting.failed:
        raise click.exceptions.Exit(FAILED)


@command("watch")
@target_arguments()
@selection_options
@_output_option
@click.option("--watch-only", is_flag=True, help="Only the changes, without the objects before.")
@_headers_option
def watch(
    session: Session,
    targets: Sequence[str],
    selection: Selection,
    output: str,
    watch_only: bool,
    no_headers: bool,
) -> None:
    """Print objects and then each change, as get -w. Ctrl-C ends it.

    A lost connection is opened again, and what has changed meanwhile is printed.

    \b
      kubeconnect watch pods -n shop
      kubeconnect watch deployments -A -o jsonl | jq .type
    """
    found = targets_of(session, targets)
    _follow(session, found, selection, output, watch_only, not no_headers)


def _follow(
    session: Session,
    targets: Sequence[Target],
    selection: Selection,
    output: str,
    watch_only: bool,
    headers: bool,
) -> None:
    if len(targets) != 1 or len(targets[0].names) > 1:
        raise click.UsageError("a watch is of one resource, or of one object")
    (target,) = targets
    if target.names and selection.selects:
        raise click.UsageError("give either names or selectors")
    namespace = session.namespace_of(target.resource, selection.all_namespaces)
    query = Query(target.resource, namespace, selection)
    name = target.names[0] if target.names else None
    follow(session.client, query, name, output, initial=not watch_only, headers=headers)


class _Getting:
    """Reads targets, and notes whether one of their objects could not be read."""

    def __init__(self, session: Session, query: Query, ignore_not_found: bool) -> None:
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

    def objects(self, targets: Sequence[Target], output: str) -> Iterator[Object]:
        """Yield the objects of all targets."""
        for target in targets:
            query = self._query_of(target)
            yield from self._objects(target, query, NAME_FIELDS if output == "name" else None)

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
            click.echo(f"No resources found{where}.", err=True)

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


def warn(warnings: Sequence[str]) -> None:
    """Print warnings of the service."""
    for each in warnings:
        click.echo(f"warning: {each}", err=True)
