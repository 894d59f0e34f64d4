"""What the scenarios of blackbox.py share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import kubeconnect
from kubeconnect import Client, EventType, Watch

T = TypeVar("T")

LIMIT_SECONDS = 60.0
OF_CONTROLLER = "kube-root-ca.crt"


class Faults(Protocol):
    """The faults that a scenario needs of the service."""

    def disconnect(self) -> None:
        """Cut all streams. Resume tokens remain valid."""

    def reset(self) -> None:
        """Invalidate all resume tokens and page tokens."""


@dataclass
class World:
    """A service, as its callers see it."""

    client: Client
    namespace: str
    """A namespace of the scenario alone, which exists."""
    faults: Faults

    @property
    def group(self) -> str:
        """The API group of the scenario's custom resource."""
        return f"{self.namespace}.example.com"

    @property
    def crontabs(self) -> str:
        """The name of the scenario's custom resource."""
        return f"crontabs.{self.group}"

    def define_crontabs(self) -> None:
        """Create the definition of the custom resource, and wait until it is served."""
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "subresources": {
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                },
            },
            "schema": {"openAPIV3Schema": anything},
        }
        names = {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"}
        definition = {
            "metadata": {"name": self.crontabs},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        }
        self.client.create("customresourcedefinitions", definition)
        eventually(self._serves_crontabs)

    def _serves_crontabs(self) -> bool:
        try:
            self.client.list(self.crontabs, namespace=self.namespace)
            missing = f"{self.crontabs}-missing"
            self.client.patch(self.crontabs, missing, {}, namespace=self.namespace, type="merge")
        except kubeconnect.NotFound as error:
            return "missing" in error.message
        return False

    def create(self, name: str, **fields: Any) -> kubeconnect.Object:
        """Create a ConfigMap, with ``metadata`` in addition to its name."""
        metadata = {**fields.pop("metadata", {}), "name": name}
        body = {"metadata": metadata, **fields}
        return self.client.create("configmaps", body, namespace=self.namespace).object

    def get(self, name: str, resource: str = "configmaps") -> kubeconnect.Object:
        """Return an object as it is now."""
        return self.client.get(resource, name, namespace=self.namespace, consistency="latest")

    def exists(self, name: str, resource: str = "configmaps") -> bool:
        """Return whether an object exists now."""
        try:
            self.get(name, resource)
        except kubeconnect.NotFound:
            return False
        return True


def labeled(**labels: str) -> dict[str, Any]:
    """Return the metadata with these labels."""
    return {"labels": labels}


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.02)


@contextmanager
def raises(cls: type[kubeconnect.KubeconnectError], reason: str | None = None) -> Iterator[None]:
    """Fail unless the block raises exactly this class of errors, with this reason."""
    raised: kubeconnect.KubeconnectError | None = None
    try:
        yield
    except kubeconnect.KubeconnectError as error:
        raised = error
    assert type(raised) is cls, f"{raised!r} is no {cls.__name__}"
    assert reason in (None, raised.reason), f"{raised!r} has the reason {raised.reason}"
    assert raised.message, "the error has no message"


def take(watch: Watch, count: int) -> list[str]:
    """Return the next events of a watch, without BOOKMARKs: "ADDED web", "SYNCED".

    The events of the ConfigMap that a controller creates in each namespace are ignored: a watch
    that resumes may report an object that does not match as DELETED.
    """
    taken: list[str] = []
    while len(taken) < count:
        event = next(watch)
        name = event.object.name if event.object else ""
        if event.type is not EventType.BOOKMARK and name != OF_CONTROLLER:
            taken.append(f"{event.type.name} {name}".rstrip())
    return taken


def equal(found: T, wanted: T) -> None:
    """Fail unless two values are equal."""
    assert found == wanted, f"found {found!r}, want {wanted!r}"
