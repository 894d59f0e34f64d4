"""The calls of a client about the cluster and the caller."""

from __future__ import annotations

from collections.abc import Iterable

from kubeconnect._access import (
    AccessCheck,
    AccessDecision,
    Identity,
    access_decisions,
    access_request,
)
from kubeconnect._discovery import ResourceTypesResult, SchemaResult
from kubeconnect._requests import checked
from kubeconnect._transport.options import deadline
from kubeconnect.aio._calls import AsyncCalls
from kubeconnect.v1 import access_service_pb2 as access_pb
from kubeconnect.v1 import discovery_service_pb2 as discovery_pb


class AsyncCluster(AsyncCalls):
    """The resources that the cluster serves, and what the caller is allowed to do with them."""

    async def resource_types(
        self, *, group: str | None = None, category: str | None = None, timeout: float | None = None
    ) -> ResourceTypesResult:
        """Return the resources that the cluster serves, as ``kubectl api-resources`` does.

        ``group`` restricts the result to one API group, "core" for the core group.
        ``category`` restricts it to one category, such as "all".
        """
        request = checked(discovery_pb.ListResourceTypesRequest)(group=group, category=category)
        response = await self._transport.read(
            self._transport.discovery.ListResourceTypes, request, deadline(timeout, self._timeout)
        )
        return ResourceTypesResult.from_message(response)

    async def schema(self, resource: str, *, timeout: float | None = None) -> SchemaResult:
        """Return the OpenAPI v3 schema of a resource's kind. Raises NotFound if it has none."""
        request = checked(discovery_pb.GetSchemaRequest)(resource=resource)
        response = await self._transport.read(
            self._transport.discovery.GetSchema, request, deadline(timeout, self._timeout)
        )
        return SchemaResult.from_message(response)

    async def who_am_i(self, *, timeout: float | None = None) -> Identity:
        """Return the identity of the caller.

        Raises Unauthenticated if the cluster cannot authenticate the caller. If the service
        does not authenticate callers, this is the identity of the service itself.
        """
        response = await self._transport.read(
            self._transport.access.WhoAmI,
            access_pb.WhoAmIRequest(),
            deadline(timeout, self._timeout),
        )
        return Identity.from_message(response)

    async def check_access(
        self, checks: Iterable[AccessCheck], *, timeout: float | None = None
    ) -> tuple[AccessDecision, ...]:
        """Return whether the caller is allowed to perform each of several actions, at most
        100, in the order of the checks.

        The decisions may be ten seconds old, or older if the operator allows that. The call
        raises if one of the checks cannot be evaluated, for example because its resource
        does not exist. Each check counts as one call against the caller's rate limit.
        """
        request = access_request(checks)
        response = await self._transport.read(
            self._transport.access.CheckAccess, request, deadline(timeout, self._timeout)
        )
        return access_decisions(request, response)

    async def can_i(
        self,
        verb: str,
        resource: str,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Return whether the caller is allowed to perform an action, as ``kubectl auth can-i``.

        The arguments are those of ``AccessCheck``. Use ``check_access`` for several
        actions, or for the reason.
        """
        check = AccessCheck(verb, resource, namespace=namespace, name=name, subresource=subresource)
        (decision,) = await self.check_access([check], timeout=timeout)
        return decision.allowed
