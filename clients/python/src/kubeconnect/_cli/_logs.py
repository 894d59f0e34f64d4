"""``logs``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from kubeconnect import KubeconnectError, Object, selected_by
from kubeconnect._cli._completers import complete_pods
from kubeconnect._cli._containers import Container, LogOptions, containers_of, prefix_of
from kubeconnect._cli._failures import FAILED, note, report
from kubeconnect._cli._following import LogFollower
from kubeconnect._cli._log_lines import read_lines
from kubeconnect._cli._options import all_namespaces_option, duration
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._terminal import log_line

_TAIL_OF_MANY = 10


@command("logs")
@click.argument("pod", required=False, metavar="[POD|TYPE/NAME]", shell_complete=complete_pods)
@click.option("-l", "--selector", "label_selector", help="The pods that match a label selector.")
@all_namespaces_option
@click.option("-f", "--follow", is_flag=True, help="Follow the logs, also of later pods.")
@click.option("-c", "--container", help="The container. [default: the pod's default container]")
@click.option("--all-containers", is_flag=True, help="All containers of each pod.")
@click.option("-p", "--previous", is_flag=True, help="The previous run of the container.")
@click.option(
    "--tail",
    type=click.IntRange(-1),
    help="The number of lines of each log; -1: all. [default: all, or 10 of each of several pods]",
)
@click.option("--since", type=duration, help="Only lines that are not older: 5m.")
@click.option("--timestamps", is_flag=True, help="Print the time of each line.")
@click.option("--prefix/--no-prefix", default=None, help="[default: a prefix for several pods]")
@click.option(
    "--max-log-requests",
    type=click.IntRange(1, 100),
    default=50,
    show_default=True,
    help="How many logs are followed at once.",
)
def logs(
    session: Session,
    pod: str | None,
    label_selector: str | None,
    all_namespaces: bool,
    follow: bool,
    container: str | None,
    all_containers: bool,
    previous: bool,
    tail: int | None,
    since: float | None,
    timestamps: bool,
    prefix: bool | None,
    max_log_requests: int,
) -> None:
    """Print the logs of one or several pods.

    With -f and several pods, pods that are created later and containers that are restarted are
    followed too.

    \b
      kubeconnect logs web-0
      kubeconnect logs -f deployment/web
      kubeconnect logs -f -l app=web --since 5m
    """
    if pod and (label_selector or all_namespaces):
        raise click.UsageError("name a pod, or TYPE/NAME, or select pods with -l and -A")
    selection = _selection(session, pod, label_selector, all_namespaces)
    several = "name" not in selection
    if tail is None:
        tail = -1 if pod else _TAIL_OF_MANY
    options = LogOptions(
        container=container,
        all_containers=all_containers,
        previous=previous,
        tail=None if tail < 0 else tail,
        since=None if since is None else max(1, round(since)),
        timestamps=timestamps,
        prefix=several or all_containers if prefix is None else prefix,
        namespaces=all_namespaces,
    )
    if follow and several:
        follower = LogFollower(session.client, options, max_log_requests)
        follower.run(session.client.watch("pods", **selection))
        return
    _print_logs(session, selection, options, follow)


def _selection(
    session: Session, pod: str | None, label_selector: str | None, all_namespaces: bool
) -> dict[str, Any]:
    """Return the arguments of a list or a watch that select the pods."""
    if not pod:
        if not (label_selector or all_namespaces):
            raise click.UsageError("name a pod, or TYPE/NAME, or select pods with -l or -A")
        namespace = None if all_namespaces else session.namespace
        return {"namespace": namespace, "label_selector": label_selector}
    resource, slash, name = pod.rpartition("/")
    if not slash or resource in ("pod", "pods", "po"):
        return {"namespace": session.namespace, "name": name}
    owner = selected_by(resource, name, namespace=session.namespace_of(resource))
    return {"namespace": session.namespace, "related": owner}


def _print_logs(
    session: Session, selection: dict[str, Any], options: LogOptions, follow: bool
) -> None:
    """Print one log after another."""
    failed = False
    many = 0
    for pod in _pods(session, selection):
        for container in containers_of(pod, options):
            many += 1
            try:
                _print_log(session, container, options, follow)
            except KubeconnectError as error:
                report(error, prefix_of(container, options) if options.prefix else "")
                failed = True
    if not many:
        where = "" if options.namespaces else f" in namespace {session.namespace}"
        note(f"No pods found{where}.")
    if failed:
        raise click.exceptions.Exit(FAILED)


def _pods(session: Session, selection: dict[str, Any]) -> Iterator[Object]:
    arguments = dict(selection)
    name = arguments.pop("name", None)
    if isinstance(name, str):
        yield session.client.get("pods", name, namespace=session.namespace)
    else:
        yield from session.client.list("pods", **arguments).all()


def _print_log(session: Session, container: Container, options: LogOptions, follow: bool) -> None:
    prefix = prefix_of(container, options) if options.prefix else ""
    for line in read_lines(session.client, container, options, follow=follow):
        sys.stdout.write(f"{prefix}{log_line(line)}\n")
        if follow:
            sys.stdout.flush()
