"""Options that several commands have.

The options of the connection and the namespace are accepted before and after the name of the
command, as by kubectl. Their values are in ``ctx.meta``, which the contexts of the program and of
the command share, and the one after the command is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from kubeconnect._cli._completers import complete_contexts, complete_namespaces

META = "kubeconnect"

F = TypeVar("F", bound=Callable[..., Any])

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(value: str) -> float:
    """Return the seconds of a duration as in Go, such as "1h30m", or of a number of seconds."""
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    parts = _DURATION.findall(value)
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise click.BadParameter(f'"{value}" is not a duration, such as "30s" or "1h30m".')
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _store(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None and param.name:
        ctx.meta.setdefault(META, {})[param.name] = value


def _shared(*names: str, hidden: bool, **attributes: Any) -> Callable[[F], F]:
    return click.option(*names, hidden=hidden, expose_value=False, callback=_store, **attributes)


def connection_options(*, hidden: bool = True) -> Callable[[F], F]:
    """Add the options of the connection."""
    file = click.Path(dir_okay=False)
    options: list[Callable[[Any], Any]] = [
        _shared("--address", metavar="URL", hidden=hidden, help="The address of kubeconnect."),
        _shared("--token-file", type=file, hidden=hidden, help="A file with a bearer token."),
        _shared("--ca-file", type=file, hidden=hidden, help="The CA certificates to trust."),
        _shared(
            "--client-certificate", type=file, hidden=hidden, help="A certificate of the cluster."
        ),
        _shared("--client-key", type=file, hidden=hidden, help="The key of the certificate."),
        _shared(
            "--context",
            metavar="NAME",
            hidden=hidden,
            shell_complete=complete_contexts,
            help="Use the credentials of a context of the kubeconfig.",
        ),
        _shared(
            "--kubeconfig",
            type=file,
            hidden=hidden,
            help="The kubeconfig. [default: KUBECONFIG, or ~/.kube/config]",
        ),
        _shared(
            "--request-timeout",
            type=duration,
            hidden=hidden,
            help="The time limit of each call. [default: 30s]",
        ),
    ]
    return _all(options)


def namespace_option(*, hidden: bool = False) -> Callable[[F], F]:
    """Add -n."""
    return _shared(
        "-n",
        "--namespace",
        hidden=hidden,
        shell_complete=complete_namespaces,
        help="The namespace. [default: KUBECONNECT_NAMESPACE, that of the pod, or default]",
    )


@dataclass(frozen=True)
class Selection:
    """The options that select objects."""

    all_namespaces: bool
    label_selector: str | None
    field_selector: str | None
    filter: str | None

    @property
    def selects(self) -> bool:
        """Whether there are selectors."""
        return bool(self.label_selector or self.field_selector or self.filter)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a call."""
        return {
            "label_selector": self.label_selector,
            "field_selector": self.field_selector,
            "filter": self.filter,
        }


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add -A, -l, --field-selector and --filter, whose value is the argument ``selection``."""
    options: list[Callable[[Any], Any]] = [
        click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces."),
        click.option("-l", "--selector", "label_selector", help="A label selector."),
        click.option("--field-selector", help="A field selector: status.phase=Running."),
        click.option("--filter", metavar="CEL", help='An expression: "object.spec.replicas > 3".'),
    ]

    @wraps(command)
    def selecting(
        *arguments: Any,
        all_namespaces: bool,
        label_selector: str | None,
        field_selector: str | None,
        filter: str | None,
        **keywords: Any,
    ) -> Any:
        selection = Selection(all_namespaces, label_selector, field_selector, filter)
        return command(*arguments, selection=selection, **keywords)

    return _all(options)(selecting)


def all_namespaces_option(command: F) -> F:
    """Add -A."""
    option = click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
    return option(command)


def dry_run_option(command: F) -> F:
    """Add --dry-run, which also accepts the value of kubectl's."""
    option = click.option(
        "--dry-run",
        is_flag=False,
        flag_value="server",
        type=click.Choice(["none", "server"]),
        default="none",
        callback=lambda ctx, param, value: value == "server",
        help="Validate the change at the API server, and do not make it.",
    )
    return option(command)


def dry_run_suffix(dry_run: bool) -> str:
    """Return what follows the line of a change that was not made."""
    return " (server dry run)" if dry_run else ""


def _all(options: list[Callable[[Any], Any]]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
