"""``delete``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from kubeconnect import NotFound
from kubeconnect._cli._apply import files_option, read_manifests
from kubeconnect._cli._each import for_each
from kubeconnect._cli._failures import note
from kubeconnect._cli._options import (
    Selection,
    dry_run_option,
    dry_run_suffix,
    duration,
    selection_options,
)
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._targets import Target, target_arguments, targets_of
from kubeconnect._cli._workloads import title
from kubeconnect._writes import PropagationPolicyLike


@dataclass(frozen=True)
class _Item:
    """An object to delete."""

    resource: str
    name: str
    namespace: str | None
    uid: str | None = None


@command("delete")
@target_arguments(required=False)
@files_option
@selection_options
@click.option("--all", "everything", is_flag=True, help="All objects of the namespace.")
@click.option(
    "--cascade",
    type=click.Choice(["background", "foreground", "orphan"]),
    help="What happens to the objects that it owns. [default: as the kind prescribes]",
)
@click.option("--grace-period", type=click.IntRange(0), help="Seconds that a pod has to shut down.")
@click.option("--ignore-not-found", is_flag=True, help="Objects that do not exist are no error.")
@click.option("--wait/--no-wait", default=True, help="Wait until the objects are gone. [default]")
@click.option("--timeout", type=duration, default="0", help="The time limit of the wait; 0: none.")
@dry_run_option
def delete(
    session: Session,
    targets: Sequence[str],
    files: Sequence[str],
    selection: Selection,
    everything: bool,
    cascade: PropagationPolicyLike | None,
    grace_period: int | None,
    ignore_not_found: bool,
    wait: bool,
    timeout: float,
    dry_run: bool,
) -> None:
    """Delete objects, by names, by selectors or by files.

    \b
      kubeconnect delete pod web-0 web-1
      kubeconnect delete deployments -l app=old
      kubeconnect delete -f app.yaml
    """
    deleted: list[_Item] = []

    def run(item: _Item) -> None:
        try:
            result = session.client.delete(
                item.resource,
                item.name,
                namespace=item.namespace,
                uid=item.uid,
                propagation_policy=cascade,
                grace_period_seconds=grace_period,
                dry_run=dry_run,
            )
        except NotFound:
            if ignore_not_found or item.uid:
                return
            raise
        name = title(session, item.resource, item.name)
        sys.stdout.write(f"{name} deleted{dry_run_suffix(dry_run)}\n")
        sys.stdout.flush()
        if result.object is not None:
            deleted.append(item)

    items = list(_items(session, targets, files, selection, everything))
    if not items:
        note("No resources found.")
    for_each(items, run)
    if wait and not dry_run:
        for_each(deleted, lambda item: _wait(session, item, timeout))


def _wait(session: Session, item: _Item, timeout: float) -> None:
    session.client.wait_for(
        item.resource,
        item.name,
        "deleted",
        namespace=item.namespace,
        timeout=timeout or float("inf"),
    )


def _items(
    session: Session,
    arguments: Sequence[str],
    files: Sequence[str],
    selection: Selection,
    everything: bool,
) -> Iterator[_Item]:
    if bool(arguments) == bool(files):
        raise click.UsageError("name either objects or files")
    if files:
        for manifest in read_manifests(files):
            namespace = manifest.namespace or session.namespace_of(manifest.resource)
            yield _Item(manifest.resource, manifest.name, namespace)
        return
    for target in targets_of(session, arguments):
        yield from _items_of(session, target, selection, everything)


def _items_of(
    session: Session, target: Target, selection: Selection, everything: bool
) -> Iterator[_Item]:
    if bool(target.names) == (selection.selects or everything):
        raise click.UsageError("give either names, or selectors, or --all")
    if target.names:
        namespace = session.namespace_of(target.resource)
        for name in target.names:
            yield _Item(target.resource, name, namespace)
        return
    namespace = session.namespace_of(target.resource, selection.all_namespaces)
    found = session.client.list(
        target.resource, namespace=namespace, **selection.arguments(), metadata_only=True
    )
    for each in found.all():
        yield _Item(target.resource, each.name, each.namespace, each.uid)
