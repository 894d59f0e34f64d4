"""``api-resources``."""

from __future__ import annotations

import sys

import click

from kubeconnect import ResourceType
from kubeconnect._cli._failures import warn
from kubeconnect._cli._session import Session, command, full_name
from kubeconnect._cli._tables import print_table
from kubeconnect._cli._terminal import shown


@command("api-resources", namespaced=False)
@click.option("--api-group", help='An API group; "core" or "" is the core group.')
@click.option("--category", help="A category, such as all.")
@click.option("--namespaced", type=bool, help="Only resources with, or without, namespaces.")
@click.option("--verbs", help="Only resources with these verbs: list,watch.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "name"]),
    default="table",
    show_default=True,
    help="The format.",
)
@click.option("--no-headers", is_flag=True, help="Print no headings.")
def api_resources(
    session: Session,
    api_group: str | None,
    category: str | None,
    namespaced: bool | None,
    verbs: str | None,
    output: str,
    no_headers: bool,
) -> None:
    """Print the resources that the cluster serves.

    \b
      kubeconnect api-resources --api-group apps
      kubeconnect api-resources --verbs list,watch -o name
    """
    group = "core" if api_group == "" else api_group
    result = session.client.resource_types(group=group, category=category)
    wanted = set(verbs.split(",")) if verbs else set()
    types = [
        each
        for each in result.types
        if namespaced in (None, each.resource.namespaced) and wanted <= set(each.verbs)
    ]
    if output == "name":
        sys.stdout.writelines(f"{shown(full_name(each.resource))}\n" for each in types)
    else:
        _print(types, wide=output == "wide", headers=not no_headers)
    for failed in result.failed_group_versions:
        where = f"{failed.group}/{failed.version}"
        warn([f"the resources of {where} are missing: {failed.message}"])


def _print(types: list[ResourceType], *, wide: bool, headers: bool) -> None:
    headings = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    rows = [
        [
            each.resource.plural,
            ",".join(each.short_names),
            each.resource.api_version,
            each.resource.namespaced,
            each.resource.kind,
            *([",".join(each.verbs), ",".join(each.categories)] if wide else []),
        ]
        for each in types
    ]
    print_table(headings + (["VERBS", "CATEGORIES"] if wide else []), rows, headers=headers)
