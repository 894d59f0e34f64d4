"""``count``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from kubeconnect import CountResult
from kubeconnect._cli._completers import complete_resources
from kubeconnect._cli._failures import note, warn
from kubeconnect._cli._objects import as_json, as_yaml
from kubeconnect._cli._options import Selection, selection_options
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._tables import print_table

SHORT_PATHS = {
    "namespace": "metadata.namespace",
    "node": "spec.nodeName",
    "phase": "status.phase",
    "image": "spec.containers[*].image",
}


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
@click.option("--limit", type=click.IntRange(1, 10_000), help="The maximum number of groups.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="The format.",
)
def count(
    session: Session,
    resource: str,
    selection: Selection,
    by: Sequence[str],
    limit: int | None,
    output: str,
) -> None:
    """Count objects, also by the values of fields.

    \b
      kubeconnect count pods -A --by namespace,phase
      kubeconnect count pods --filter "object.spec.containers.size() > 1"
      kubeconnect count events -A --field-selector type=Warning --by reason
    """
    paths = [path.strip() for each in by for path in each.split(",") if path.strip()]
    result = session.client.count(
        resource,
        namespace=session.namespace_of(resource, selection.all_namespaces),
        **selection.arguments(),
        group_by=[SHORT_PATHS.get(path, path) for path in paths] or None,
        max_groups=limit,
    )
    warn(result.warnings)
    _print(result, paths, output)


def _print(result: CountResult, paths: Sequence[str], output: str) -> None:
    if output != "table":
        groups = [{"values": list(each.values), "count": each.count} for each in result.groups]
        value = {"total": result.total, "groups": groups} if paths else {"total": result.total}
        text = as_yaml(value) if output == "yaml" else as_json(value, indent=4) + "\n"
        sys.stdout.write(text)
        return
    if not paths:
        sys.stdout.write(f"{result.total}\n")
        return
    headings = [*(heading(path) for path in paths), "COUNT"]
    print_table(headings, [(*group.values, group.count) for group in result.groups])
    if result.remaining_group_count:
        note(f"... and {result.remaining_group_count} more groups")


def heading(path: str) -> str:
    """Return the heading of the column of a path: its last name."""
    name = path.rstrip("]}'\"*[").replace("'", ".").replace('"', ".")
    return name.rsplit(".", 1)[-1].rsplit("[", 1)[-1].upper() or path.upper()
