"""``count``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from kubeconnect import Aggregate, Average, Max, Min, Sum
from kubeconnect._cli._completers import complete_resources
from kubeconnect._cli._count_output import CountPrinter
from kubeconnect._cli._options import Selection, duration, selection_options
from kubeconnect._cli._session import Session, command

SHORT_PATHS = {
    "namespace": "metadata.namespace",
    "node": "spec.nodeName",
    "phase": "status.phase",
    "image": "spec.containers[*].image",
}
SHORT_VALUES = {
    "cpu": "spec.containers[*].resources.requests.cpu",
    "memory": "spec.containers[*].resources.requests.memory",
    "created": "metadata.creationTimestamp",
}
FUNCTIONS: dict[str, type[Aggregate]] = {"sum": Sum, "avg": Average, "min": Min, "max": Max}


def _aggregate_option(name: str, what: str) -> Callable[[Any], Any]:
    return click.option(f"--{name}", metavar="PATH", multiple=True, help=what)


@command("count")
@click.argument("resource", shell_complete=complete_resources)
@selection_options
@click.option(
    "--by",
    metavar="PATH",
    multiple=True,
    help="A field: status.phase. Several with commas, or several times. "
    f"{', '.join(SHORT_PATHS)} are short for those of pods.",
)
@_aggregate_option(
    "sum",
    "The sum of a field, also of each group. cpu and memory are short for the requests of pods, "
    "created for the creation time.",
)
@_aggregate_option("avg", "The average of a field.")
@_aggregate_option("min", "The smallest value of a field.")
@_aggregate_option("max", "The largest value of a field.")
@click.option("--limit", type=click.IntRange(1, 10_000), help="The maximum number of groups.")
@click.option("-w", "--watch", "watches", is_flag=True, help="Count again at each change.")
@click.option("--interval", type=duration, help="The time between two changes. [default: 1s]")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="The format. With -w, json is a line for each change.",
)
def count(
    session: Session,
    resource: str,
    selection: Selection,
    by: Sequence[str],
    limit: int | None,
    watches: bool,
    interval: float | None,
    output: str,
    **functions: Sequence[str],
) -> None:
    """Count objects, also by the values of fields, and compute sums of fields.

    \b
      kubeconnect count pods -A --by namespace,phase
      kubeconnect count pods -A --by node --sum cpu,memory --watch
      kubeconnect count pods --filter "object.spec.containers.size() > 1"
      kubeconnect count events -A --field-selector type=Warning --by reason
    """
    paths = _paths(by)
    arguments: dict[str, Any] = {
        "namespace": session.namespace_of(resource, selection.all_namespaces),
        **selection.arguments(),
        "group_by": [SHORT_PATHS.get(path, path) for path in paths] or None,
        "aggregates": _aggregates(functions),
    }
    printer = CountPrinter(paths, limit, output, live=watches)
    if not watches:
        printer.show(session.client.count(resource, **arguments, max_groups=limit))
        return
    with session.client.watch_counts(resource, **arguments, min_interval=interval) as live:
        for result in live:
            printer.show(result)
            sys.stdout.flush()


def _paths(values: Sequence[str]) -> list[str]:
    return [path.strip() for each in values for path in each.split(",") if path.strip()]


def _aggregates(functions: dict[str, Sequence[str]]) -> dict[str, Aggregate]:
    """Return the aggregates by the names that they are printed with: "sum(cpu)"."""
    return {
        f"{name}({path})": aggregate(SHORT_VALUES.get(path, path))
        for name, aggregate in FUNCTIONS.items()
        for path in _paths(functions[name])
    }
