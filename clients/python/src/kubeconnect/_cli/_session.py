"""What a command needs of the service: the client, the namespace, and what the cluster serves."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import click

from kubeconnect import Client, Resource, ResourceType, connect
from kubeconnect._cli._failures import ADDRESS
from kubeconnect._cli._options import META, connection_options, namespace_option

_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_EPILOG = "The options of the connection are also accepted: see `kubeconnect --help`."


class Session:
    """The connection of one command, which is opened when it is first used."""

    def __init__(self, settings: dict[str, Any], timeout: float | None = None) -> None:
        """Use the settings of the options. ``timeout`` overrides that of the calls."""
        self._settings = dict(settings)
        self.explicit_namespace: str | None = self._settings.pop("namespace", None)
        self._timeout = timeout or self._settings.pop("request_timeout", None)
        self._settings.pop("request_timeout", None)
        self._opened: Client | None = None

    @property
    def client(self) -> Client:
        """The client."""
        if self._opened is None:
            self._opened = connect(**self._settings, timeout=self._timeout)
            if ctx := click.get_current_context(silent=True):
                ctx.meta[ADDRESS] = str(self._opened._address)
        return self._opened

    def close(self) -> None:
        """Close the client."""
        if self._opened is not None:
            self._opened.close()

    @cached_property
    def namespace(self) -> str:
        """The namespace for objects whose namespace is not given."""
        if self.explicit_namespace:
            return self.explicit_namespace
        if chosen := os.environ.get("KUBECONNECT_NAMESPACE"):
            return chosen
        try:
            return _POD_NAMESPACE.read_text().strip() or "default"
        except OSError:
            return "default"

    @cached_property
    def served(self) -> tuple[ResourceType, ...]:
        """The resources that the cluster serves."""
        return self.client.resource_types().types

    def find(self, name: str) -> ResourceType | None:
        """Return the resource with a name as in kubectl; None if there is none."""
        return next((each for each in self.served if is_named(each, name)), None)

    def namespace_of(self, resource: str, all_namespaces: bool = False) -> str | None:
        """Return the namespace of a call; None for all, or for a resource without namespaces."""
        if all_namespaces:
            return None
        found = self.find(resource)
        # The service knows why a resource is unknown.
        return self.namespace if found is None or found.resource.namespaced else None

    def category(self, name: str) -> list[str]:
        """Return the resources of a category, such as "all", that can be listed."""
        return [
            full_name(each.resource)
            for each in self.served
            if name in each.categories and "list" in each.verbs
        ]


def is_named(served: ResourceType, name: str) -> bool:
    """Return whether a name is that of a resource: "po", "deployments.apps", "Pod.v1."."""
    resource = served.resource
    first, _, rest = name.lower().partition(".")
    if first not in {resource.plural, served.singular, resource.kind.lower(), *served.short_names}:
        return False
    versions = [f"{version}.{resource.group}" for version in served.versions]
    return rest in {"", resource.group, *served.versions, *versions}


def full_name(resource: Resource) -> str:
    """Return the name of a resource with its group: "deployments.apps"."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def command(name: str | None = None, *, namespaced: bool = True) -> Callable[[Any], click.Command]:
    """Make a command of a function, whose first argument is the Session."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @wraps(function)
        def run(*arguments: Any, **keywords: Any) -> Any:
            ctx = click.get_current_context()
            session = Session(ctx.meta.get(META, {}))
            ctx.call_on_close(session.close)
            return function(session, *arguments, **keywords)

        options = connection_options()(namespace_option(hidden=not namespaced)(run))
        return click.command(name, epilog=_EPILOG)(options)

    return decorate
