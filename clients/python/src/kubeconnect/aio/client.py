"""The client."""

from __future__ import annotations

import os
from types import TracebackType

from kubeconnect.address import Address
from kubeconnect.aio.object_list import AsyncObjectList
from kubeconnect.aio.watch import AsyncWatch
from kubeconnect.objects import Object, ResourceKind
from kubeconnect.patches import PatchBody, PatchResult, PatchType, encode_body
from kubeconnect.transport.aio import AsyncTransport
from kubeconnect.transport.options import deadline
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from kubeconnect.watch_session import WatchSession

DEFAULT_TIMEOUT = 30.0
"""How long a call may take, in seconds."""


class AsyncClient:
    """Reads and changes the objects of any resource of the cluster.

    A resource is named as in kubectl: "pods", "po", "Pod", "deployments.apps". A
    namespace that is left out means all namespaces in ``list`` and ``watch``, and
    a resource without namespaces in ``get`` and ``patch``.

    To read your own write, give the version of its answer to a read as
    ``min_resource_version``: the read waits until it sees that, and raises
    DeadlineExceeded where that takes more than five seconds.

    A ``timeout`` is in seconds, and ``math.inf`` means none; left out, it is the
    client's. A watch has none. All calls raise a KubeconnectError that says what
    went wrong: NotFound, Forbidden, Unavailable, DeadlineExceeded and so on.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        """Set up a client; the connection is made with the first call.

        ``address`` is "http://host:port", "https://host:port", or "host:port",
        which is plain text on loopback and TLS everywhere else. ``ca_file`` has the
        certificates, in PEM, that the service's own must be signed by; left out,
        gRPC's usual ones. ``token`` is sent as a bearer token with each call.

        Raises ValueError for an address that cannot be understood, and for a token
        that would go to another host in plain text.
        """
        self._timeout = timeout
        self._transport = AsyncTransport(Address.parse(address), token, ca_file)

    async def __aenter__(self) -> AsyncClient:
        """Return the client."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls and watches on it are cancelled."""
        await self._transport.close()

    async def get(
        self,
        resource: str,
        name: str,
        *,
        namespace: str = "",
        min_resource_version: str = "",
        timeout: float | None = None,
    ) -> Object:
        """Return one object. Raises NotFound if it is not there."""
        request = pb.GetRequest(
            resource=resource,
            name=name,
            namespace=namespace,
            min_resource_version=min_resource_version,
            encoding=ENCODING_JSON,
        )
        response = await self._transport.unary(
            self._transport.resources.Get, request, deadline(timeout, self._timeout)
        )
        return Object(response.object, ResourceKind.from_message(response.kind))

    async def list(
        self,
        resource: str,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        min_resource_version: str = "",
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncObjectList:
        """Return the objects that match; waits for the first page only.

        ``page_size`` is the most that a page may have; 0 means as many as fit into
        about 3 MiB. ``timeout`` holds for each page.
        """
        request = pb.ListRequest(
            resource=resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            min_resource_version=min_resource_version,
            page_size=page_size,
            encoding=ENCODING_JSON,
        )
        seconds = deadline(timeout, self._timeout)
        first = await self._transport.unary(self._transport.resources.List, request, seconds)
        return AsyncObjectList(self._transport, request, first, seconds)

    def watch(
        self,
        resource: str,
        *,
        namespace: str = "",
        name: str = "",
        label_selector: str = "",
        field_selector: str = "",
        min_resource_version: str = "",
        resume_token: str | None = None,
        reconnect: bool = True,
    ) -> AsyncWatch:
        """Watch a selection, or the one object that ``name`` names.

        ``resume_token``, from an earlier watch of the same selection, continues
        behind what that one has told. Then hold what comes as ADDED or MODIFIED,
        ignore the deletion of what you do not hold, and begin anew at RESET. The
        ``kind`` of objects is not told again: its fields are "" up to a RESET.

        A stream that is lost is opened again; with ``reconnect=False`` that raises
        instead. Errors come with the first event.
        """
        request = pb.WatchRequest(
            resource=resource,
            namespace=namespace,
            name=name,
            label_selector=label_selector,
            field_selector=field_selector,
            min_resource_version=min_resource_version,
            resume_token=resume_token or "",
            encoding=ENCODING_JSON,
        )
        transport = self._transport
        return AsyncWatch(
            WatchSession(request, reconnect=reconnect),
            lambda request, wait: transport.stream(
                transport.resources.Watch, request, wait_for_ready=wait
            ),
        )

    async def patch(
        self,
        resource: str,
        name: str,
        body: PatchBody,
        *,
        type: PatchType,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        force: bool = False,
        timeout: float | None = None,
    ) -> PatchResult:
        """Change parts of one object, or of its ``subresource`` ("status", "scale").

        ``body`` is written as ``type`` says: a mapping or a list is sent as JSON,
        bytes and str as they are. ``dry_run`` checks and admits the change
        without making it. APPLY needs a ``field_manager``, and with ``force`` takes
        fields over from others.

        Raises Conflict, with a cause for each field, where others own fields;
        Invalid, with a cause for each field, where the result is refused. After
        DeadlineExceeded or Unavailable the change may have been made.
        """
        request = pb.PatchRequest(
            resource=resource,
            name=name,
            namespace=namespace,
            subresource=subresource,
            type=type.value,
            data=encode_body(body),
            dry_run=dry_run,
            field_manager=field_manager,
            force=force,
            encoding=ENCODING_JSON,
        )
        response = await self._transport.unary(
            self._transport.resources.Patch, request, deadline(timeout, self._timeout)
        )
        return PatchResult.from_message(response)
