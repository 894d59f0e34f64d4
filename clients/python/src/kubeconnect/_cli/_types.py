"""``types``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from kubeconnect._cli._completers import complete_resources
from kubeconnect._cli._progress import progress
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._terminal import shown_lines


@command("types", namespaced=False)
@click.argument("resources", nargs=-1, shell_complete=complete_resources)
@click.option("--all", "all_resources", is_flag=True, help="All resources that have a schema.")
@click.option(
    "--total", is_flag=True, help="Require all keys, for programs that only read objects."
)
def types(session: Session, resources: Sequence[str], all_resources: bool, total: bool) -> None:
    """Write Python types for the kinds of resources: TypedDicts, from the cluster's schemas.

    \b
      kubeconnect types pods certificates.cert-manager.io > cluster_types.py
    """
    if bool(resources) == all_resources:
        raise click.UsageError("name the resources, or use --all")
    from kubeconnect.types import all_schemas, typed_dicts

    if all_resources:
        schemas = list(progress(all_schemas(session.client), "schemas"))
    else:
        schemas = [session.client.schema(name) for name in resources]
    sys.stdout.write(shown_lines(typed_dicts(schemas, total=total)))
