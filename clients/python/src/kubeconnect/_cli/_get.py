"""``get`` and ``watch``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kubeconnect._cli._columns import PREFIX, Columns
from kubeconnect._cli._failures import FAILED
from kubeconnect._cli._getting import Getting
from kubeconnect._cli._objects import NAME_FIELDS, OBJECT_FORMATS, print_objects
from kubeconnect._cli._options import Selection, selection_options
from kubeconnect._cli._rows import Query
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._tables import print_table
from kubeconnect._cli._targets import Target, target_arguments, targets_of
from kubeconnect._cli._watching import follow
from kubeconnect._reads import ConsistencyLike

OUTPUTS = ("table", "wide", *OBJECT_FORMATS)


def _check_output(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value.startswith(PREFIX):
        try:
            Columns.parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
    elif value not in OUTPUTS:
        raise click.BadParameter(f'"{value}" is not one of {", ".join(OUTPUTS)}, {PREFIX}...')
    return value


_output_option = click.option(
    "-o",
    "--output",
    metavar="|".join([*OUTPUTS, f"{PREFIX}HEADING:PATH,..."]),
    default="table",
    callback=_check_output,
    shell_complete=lambda ctx, param, text: [
        each for each in (*OUTPUTS, PREFIX) if each.startswith(text)
    ],
    help="The format. table and wide are read from the API server, all others from the cache.",
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
      kubeconnect get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName
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
    getting = Getting(session, query, ignore_not_found)
    if output in OBJECT_FORMATS:
        single = [len(target.names) for target in found] == [1]
        fields = NAME_FIELDS if output == "name" else None
        print_objects(getting.objects(found, fields), output, single=single)
    elif output.startswith(PREFIX):
        columns = Columns.parse(output)
        cells = [columns.cells(each) for each in getting.objects(found, columns.paths)]
        print_table(columns.headings, cells, headers=not no_headers)
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

    A lost connection is opened again, and what has changed meanwhile is printed. With
    custom-columns, only the changes of these columns are printed.

    \b
      kubeconnect watch pods -n shop
      kubeconnect watch deployments -A -o jsonl | jq .type
      kubeconnect watch pods -o custom-columns=NAME:.metadata.name,PHASE:.status.phase
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
