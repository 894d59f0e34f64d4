"""``top``."""

from __future__ import annotations

from collections import Counter, defaultdict

import click

from kubeconnect import Forbidden
from kubeconnect._cli._failures import warn
from kubeconnect._cli._options import Selection, selection_options
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._tables import print_table

_PATHS = {"nodes": "spec.nodeName", "namespaces": "metadata.namespace"}
_PHASES = ("Running", "Pending", "Succeeded", "Failed", "Unknown")


@command("top")
@click.argument("group", type=click.Choice(list(_PATHS)), default="nodes", required=False)
@selection_options
@click.option("--limit", type=click.IntRange(1), help="The maximum number of rows.")
def top(session: Session, group: str, selection: Selection, limit: int | None) -> None:
    """Count the pods of each node or namespace, by phase. The largest are first.

    All namespaces are counted, unless one is named with -n. The service does not have the CPU
    and memory that pods use: with a metrics server, `get pods.metrics.k8s.io` has them.

    \b
      kubeconnect top nodes
      kubeconnect top namespaces -l app=web
    """
    namespace = session.explicit_namespace if not selection.all_namespaces else None
    result = session.client.count(
        "pods",
        namespace=namespace,
        **selection.arguments(),
        group_by=[_PATHS[group], "status.phase"],
        max_groups=10_000,
    )
    warn(result.warnings)
    phases: dict[object, Counter[object]] = defaultdict(Counter)
    if group == "nodes" and namespace is None:
        phases.update((name, Counter()) for name in _nodes(session))
    for each in result.groups:
        name, phase = each.values
        phases[name][phase] += each.count
    ordered = sorted(phases.items(), key=lambda item: (-item[1].total(), str(item[0])))
    rows = [[name, of.total(), *(of[phase] for phase in _PHASES)] for name, of in ordered[:limit]]
    headings = [group.removesuffix("s"), "pods", *_PHASES]
    print_table([each.upper() for each in headings], rows)


def _nodes(session: Session) -> list[str]:
    """Return the names of all nodes, some of which may have no pods."""
    try:
        return [each.name for each in session.client.list("nodes", fields=["metadata.name"])]
    except Forbidden:
        return []
