"""``scale`` and ``restart``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import click

from kubeconnect import Resource
from kubeconnect._cli._each import for_each
from kubeconnect._cli._objects import object_name
from kubeconnect._cli._options import dry_run_option, dry_run_suffix
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._targets import named_targets, target_arguments


@command("scale")
@target_arguments()
@click.option("--replicas", type=click.IntRange(0), required=True, help="The number of replicas.")
@dry_run_option
def scale(session: Session, targets: Sequence[str], replicas: int, dry_run: bool) -> None:
    """Set the number of replicas of workloads.

    \b
      kubeconnect scale deployment/web --replicas 3
    """

    def change(resource: str, name: str, namespace: str | None) -> str:
        session.client.scale(resource, name, replicas, namespace=namespace, dry_run=dry_run)
        return "scaled"

    _each(session, targets, dry_run, change)


@command("restart")
@target_arguments()
@dry_run_option
def restart(session: Session, targets: Sequence[str], dry_run: bool) -> None:
    """Replace the pods of workloads one after another, as `kubectl rollout restart` does.

    \b
      kubeconnect restart deployment/web
      kubeconnect wait deployment/web --for rollout
    """

    def change(resource: str, name: str, namespace: str | None) -> str:
        session.client.restart(resource, name, namespace=namespace, dry_run=dry_run)
        return "restarted"

    _each(session, targets, dry_run, change)


def _each(
    session: Session,
    arguments: Sequence[str],
    dry_run: bool,
    change: Callable[[str, str, str | None], str],
) -> None:
    """Change each object, and print what was done."""

    def run(item: tuple[str, str]) -> None:
        resource, name = item
        done = change(resource, name, session.namespace_of(resource))
        sys.stdout.write(f"{title(session, resource, name)} {done}{dry_run_suffix(dry_run)}\n")

    targets = named_targets(session, arguments)
    for_each([(target.resource, name) for target in targets for name in target.names], run)


def title(session: Session, resource: str, name: str) -> str:
    """Return the name of an object with its kind, if the cluster serves the resource."""
    found = session.find(resource)
    kind = found.resource if found else Resource("", "", resource, resource, True)
    return object_name(kind, name)
