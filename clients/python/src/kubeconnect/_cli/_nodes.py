"""``cordon`` and ``uncordon``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from kubeconnect._cli._completers import complete_nodes
from kubeconnect._cli._each import for_each
from kubeconnect._cli._options import dry_run_option, dry_run_suffix
from kubeconnect._cli._session import Session, command

_nodes_argument = click.argument("nodes", nargs=-1, required=True, shell_complete=complete_nodes)


@command("cordon", namespaced=False)
@_nodes_argument
@dry_run_option
def cordon(session: Session, nodes: Sequence[str], dry_run: bool) -> None:
    """Mark nodes as unschedulable: no further pods are placed on them.

    \b
      kubeconnect cordon node-1 node-2
    """

    def run(node: str) -> None:
        session.client.cordon(_name(node), dry_run=dry_run)
        sys.stdout.write(f"node/{_name(node)} cordoned{dry_run_suffix(dry_run)}\n")

    for_each(nodes, run)


@command("uncordon", namespaced=False)
@_nodes_argument
@dry_run_option
def uncordon(session: Session, nodes: Sequence[str], dry_run: bool) -> None:
    """Mark nodes as schedulable.

    \b
      kubeconnect uncordon node-1
    """

    def run(node: str) -> None:
        session.client.uncordon(_name(node), dry_run=dry_run)
        sys.stdout.write(f"node/{_name(node)} uncordoned{dry_run_suffix(dry_run)}\n")

    for_each(nodes, run)


def _name(node: str) -> str:
    return node.removeprefix("node/").removeprefix("nodes/")
