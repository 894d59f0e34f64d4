"""The objects that the arguments of a command name, in kubectl's forms: TYPE, TYPE NAME...,
TYPE/NAME..., TYPE,TYPE and the name of a category.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from kubeconnect._cli._completers import complete_targets
from kubeconnect._cli._session import Session

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Target:
    """Objects of one resource: some names, or all that are selected."""

    resource: str
    names: tuple[str, ...] = ()


def target_arguments(*, required: bool = True) -> Callable[[F], F]:
    """Add the arguments, whose value is ``targets``."""
    return click.argument(
        "targets",
        nargs=-1,
        required=required,
        metavar="RESOURCE[/NAME] [NAME]..." if required else "[RESOURCE[/NAME] [NAME]...]",
        shell_complete=complete_targets,
    )


def targets_of(session: Session, arguments: Sequence[str]) -> list[Target]:
    """Return the targets that arguments name."""
    if any("/" in argument for argument in arguments):
        return _paths(arguments)
    names = tuple(arguments[1:])
    targets = []
    for resource in filter(None, arguments[0].split(",")):
        if names or not (members := _category(session, resource)):
            targets.append(Target(resource, names))
        else:
            targets.extend(map(Target, members))
    return targets


def named_targets(session: Session, arguments: Sequence[str]) -> list[Target]:
    """Return targets that have names. Raises UsageError for others."""
    targets = targets_of(session, arguments)
    if not all(target.names for target in targets):
        raise click.UsageError("name the objects: TYPE NAME or TYPE/NAME")
    return targets


def _paths(arguments: Sequence[str]) -> list[Target]:
    targets: list[Target] = []
    for argument in arguments:
        resource, slash, name = argument.partition("/")
        if not (resource and slash and name) or "/" in name:
            raise click.UsageError(
                f'"{argument}" is not TYPE/NAME: give either TYPE NAME... or TYPE/NAME...'
            )
        if targets and targets[-1].resource == resource:
            targets[-1] = Target(resource, (*targets[-1].names, name))
        else:
            targets.append(Target(resource, (name,)))
    return targets


def _category(session: Session, name: str) -> list[str]:
    """Return the resources of a category; empty if the name is that of a resource."""
    # "all" is not the name of a resource, and most others need no call.
    return session.category(name) if name == "all" or session.find(name) is None else []
