"""What a shell completes: resources, names of objects and namespaces, from the service.

A completion is empty if the service does not respond soon, and never fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from kubeconnect._cli._session import Session

TIMEOUT_SECONDS = 2.0
MAX_NAMES = 500

_WORD = re.compile(r"[\w.:@%+,/-]+", re.ASCII)
"""What is offered. Shells insert words as they are, and the names of some kinds, such as roles, may
have any character.
"""

Complete = Callable[["Session", click.Context, str], "list[str]"]
Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def completer(complete: Complete) -> Completer:
    """Return the function that click calls, which returns what begins with the incomplete word."""

    @wraps(complete)
    def run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from kubeconnect._cli._options import META
        from kubeconnect._cli._session import Session

        items: list[CompletionItem] = []
        with suppress(Exception):
            session = Session(ctx.meta.get(META, {}), timeout=TIMEOUT_SECONDS)
            try:
                found = filter(_WORD.fullmatch, complete(session, ctx, incomplete))
                items.extend(map(CompletionItem, found))
            finally:
                session.close()
        return [each for each in items if each.value.startswith(incomplete)]

    return run


@completer
def complete_namespaces(session: Session, ctx: click.Context, incomplete: str) -> list[str]:
    """Complete the name of a namespace."""
    return _names(session, "namespaces", None, incomplete)


def complete_contexts(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of a context of the kubeconfig."""
    from click.shell_completion import CompletionItem

    from kubeconnect._cli._options import META
    from kubeconnect._kubeconfig import context_names

    with suppress(Exception):
        names = context_names(ctx.meta.get(META, {}).get("kubeconfig"))
        words = filter(_WORD.fullmatch, names)
        return [CompletionItem(each) for each in words if each.startswith(incomplete)]
    return []


@completer
def complete_nodes(session: Session, ctx: click.Context, incomplete: str) -> list[str]:
    """Complete the name of a node."""
    return _names(session, "nodes", None, incomplete)


@completer
def complete_resources(session: Session, ctx: click.Context, incomplete: str) -> list[str]:
    """Complete the name of a resource."""
    return _resources(session)


@completer
def complete_targets(session: Session, ctx: click.Context, incomplete: str) -> list[str]:
    """Complete TYPE, TYPE NAME and TYPE/NAME."""
    given = ctx.params.get("targets") or ()
    if "/" in incomplete:
        resource, _, start = incomplete.partition("/")
        return [f"{resource}/{name}" for name in _names_in(session, ctx, resource, start)]
    if not given or "/" in given[0]:
        return _resources(session)
    return [name for name in _names_in(session, ctx, given[0], incomplete) if name not in given]


@completer
def complete_pods(session: Session, ctx: click.Context, incomplete: str) -> list[str]:
    """Complete the name of a pod, or TYPE/NAME."""
    resource, slash, start = incomplete.partition("/")
    if slash:
        return [f"{resource}/{name}" for name in _names_in(session, ctx, resource, start)]
    return _names_in(session, ctx, "pods", incomplete)


def _resources(session: Session) -> list[str]:
    """Return the plural names, with the group where several groups have the same one."""
    from kubeconnect._cli._session import full_name

    listed = [each.resource for each in session.served if "list" in each.verbs]
    names = [resource.plural for resource in listed]
    return [each.plural if names.count(each.plural) == 1 else full_name(each) for each in listed]


def _names_in(session: Session, ctx: click.Context, resource: str, start: str) -> list[str]:
    everywhere = bool(ctx.params.get("all_namespaces"))
    return _names(session, resource, session.namespace_of(resource, everywhere), start)


def _names(session: Session, resource: str, namespace: str | None, start: str) -> list[str]:
    """Return the names of the first objects whose names begin with a text."""
    found = session.client.list(
        resource,
        namespace=namespace,
        filter=f"object.metadata.name.startsWith({json.dumps(start)})" if start else None,
        fields=["metadata.name"],
        page_size=MAX_NAMES,
    )
    return [each.name for each in islice(found, MAX_NAMES)]
