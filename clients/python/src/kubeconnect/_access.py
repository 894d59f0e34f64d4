"""The caller's identity and permissions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass

import grpc

from kubeconnect._errors import Internal
from kubeconnect.v1 import access_service_pb2 as pb


@dataclass(frozen=True)
class Identity:
    """The identity of a caller in the cluster."""

    username: str
    """The user name, such as "system:serviceaccount:default:reader"."""
    uid: str | None
    """The user's UID; None if it has none."""
    groups: tuple[str, ...]
    """The user's groups."""
    extra: Mapping[str, tuple[str, ...]]
    """Additional information from the authenticator, by key."""

    @classmethod
    def from_message(cls, message: pb.WhoAmIResponse) -> Identity:
        """Return the value for the API's message."""
        extra = {key: tuple(extra.values) for key, extra in message.extra.items()}
        return cls(message.username, message.uid or None, tuple(message.groups), extra)


@dataclass(frozen=True)
class AccessCheck:
    """An action that the caller might want to perform."""

    verb: str
    """The Kubernetes verb: "get", "list", "watch", "create", "update", "patch", "delete",
    "deletecollection"."""
    resource: str
    """The resource, named as in kubectl."""
    _: KW_ONLY
    namespace: str | None = None
    """The namespace; None for all namespaces, or for a cluster-scoped resource."""
    name: str | None = None
    """The name; None for any."""
    subresource: str | None = None
    """A subresource, such as "status"; None for the object itself."""

    def to_message(self) -> pb.AccessCheck:
        """Return the API's message."""
        return pb.AccessCheck(
            verb=self.verb,
            resource=self.resource,
            namespace=self.namespace,
            name=self.name,
            subresource=self.subresource,
        )


@dataclass(frozen=True)
class AccessDecision:
    """The cluster's decision of one check."""

    allowed: bool
    """Whether the caller is allowed to perform the action."""
    reason: str | None
    """The cluster's reason for the decision; None if it gives none."""


def access_request(checks: Iterable[AccessCheck]) -> pb.CheckAccessRequest:
    """Return the request for the checks."""
    return pb.CheckAccessRequest(checks=[check.to_message() for check in checks])


def access_decisions(
    request: pb.CheckAccessRequest, response: pb.CheckAccessResponse
) -> tuple[AccessDecision, ...]:
    """Return the decisions, of which there must be one for each check."""
    asked, decided = len(request.checks), len(response.decisions)
    if asked != decided:
        message = f"invalid response: {decided} decisions for {asked} checks"
        raise Internal(grpc.StatusCode.INTERNAL, message)
    return tuple(AccessDecision(each.allowed, each.reason or None) for each in response.decisions)
