"""Faults and permissions that a test plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import grpc

from kubeconnect._errors import Forbidden, KubeconnectError, Unavailable
from kubeconnect.testing._failures import failure
from kubeconnect.testing._resources import ResourceType

CALLS = (
    "get",
    "list",
    "watch",
    "count",
    "table",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "logs",
    "access",
    "discovery",
)
"""The names of the calls that can fail."""

# The verbs of RBAC that a call needs, if they are not the name of the call.
_NEEDED = {"count": ("list",), "table": ("list",), "watch": ("list", "watch"), "logs": ("get",)}


@dataclass
class _Planned:
    call: str
    resource: ResourceType | None
    error: KubeconnectError
    times: int


@dataclass(frozen=True)
class _Rule:
    verb: str
    resource: ResourceType | None
    namespace: str | None

    def covers(self, verb: str, resource: ResourceType, namespace: str) -> bool:
        of_resource = self.resource is None or self.resource.full_name == resource.full_name
        return self.verb in ("*", verb) and of_resource and self.namespace in (None, namespace)


class Faults:
    """The faults of the service. Guarded by the lock of the cluster."""

    def __init__(self, username: Callable[[], str]) -> None:
        """Begin without faults. ``username`` returns the name of the caller."""
        self.down = False
        self.cuts = 0
        """The number of times that all streams were cut."""
        self._username = username
        self._planned: list[_Planned] = []
        self._denied: list[_Rule] = []

    def plan(
        self, call: str, resource: ResourceType | None, error: KubeconnectError, times: int
    ) -> None:
        """Let the next calls fail."""
        if call not in CALLS:
            raise ValueError(f"{call!r} is not one of {', '.join(CALLS)}")
        self._planned.append(_Planned(call, resource, error, times))

    def deny(self, verb: str, resource: ResourceType | None, namespace: str | None) -> None:
        """Deny a verb."""
        self._denied.append(_Rule(verb, resource, namespace))

    def allow(self, verb: str, resource: ResourceType | None, namespace: str | None) -> None:
        """Withdraw what was denied."""
        self._denied.remove(_Rule(verb, resource, namespace))

    def check_up(self) -> None:
        """Raise Unavailable if the service is down."""
        if self.down:
            raise failure(Unavailable, "the fake service is down")

    def check_uncut(self, cuts: int) -> None:
        """Raise Unavailable if the service is down, or has cut its streams since ``cuts``."""
        self.check_up()
        if self.cuts != cuts:
            raise Unavailable(grpc.StatusCode.UNAVAILABLE, "the fake service has cut the stream")

    def check(self, call: str, resource: ResourceType | None, namespace: str = "") -> None:
        """Raise the error with which a call fails."""
        self.check_up()
        for planned in self._planned:
            if planned.call == call and planned.resource in (None, resource):
                planned.times -= 1
                self._planned = [each for each in self._planned if each.times > 0]
                raise planned.error
        if resource is not None:
            self.check_permission(call, resource, namespace)

    def check_permission(self, call: str, resource: ResourceType, namespace: str) -> None:
        """Raise Forbidden unless the caller may make the call."""
        for verb in _NEEDED.get(call, (call,)):
            if not self.is_allowed(verb, resource, namespace):
                where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
                message = (
                    f'{resource.full_name} is forbidden: User "{self._username()}" cannot {verb} '
                    f'resource "{resource.plural}" in API group "{resource.group}" {where}'
                )
                raise failure(Forbidden, message, resource=resource)

    def is_allowed(self, verb: str, resource: ResourceType, namespace: str) -> bool:
        """Return whether the caller may do something; in all namespaces if there is none."""
        return not any(rule.covers(verb, resource, namespace) for rule in self._denied)
