"""The service over gRPC, for asyncio."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import WeakSet

import grpc
import grpc.aio
from grpc.aio import EOF  # type: ignore[attr-defined]  # not in its stubs

from kubeconnect.address import Address
from kubeconnect.errors import Cancelled
from kubeconnect.transport.failures import client_closed, failure, silent
from kubeconnect.transport.options import call_metadata, channel_credentials, channel_options
from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceStub
from kubeconnect.v1.pod_service_pb2_grpc import PodServiceStub
from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceStub

if TYPE_CHECKING:
    from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceAsyncStub
    from kubeconnect.v1.pod_service_pb2_grpc import PodServiceAsyncStub
    from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceAsyncStub

Request = TypeVar("Request")
Response = TypeVar("Response")


class AsyncTransport:
    """A connection. Belongs to the event loop that it is made in."""

    discovery: DiscoveryServiceAsyncStub
    pods: PodServiceAsyncStub
    resources: ResourceServiceAsyncStub

    def __init__(
        self, address: Address, token: str | None, ca_file: str | os.PathLike[str] | None
    ) -> None:
        """Check the arguments; the connection is made with the first call."""
        asyncio.get_running_loop()
        self._metadata = call_metadata(address, token)
        credentials = channel_credentials(address, ca_file)
        options = channel_options(address)
        if credentials:
            self._channel = grpc.aio.secure_channel(address.target, credentials, options)
        else:
            self._channel = grpc.aio.insecure_channel(address.target, options)
        self.discovery = DiscoveryServiceStub(self._channel)
        self.pods = PodServiceStub(self._channel)
        self.resources = ResourceServiceStub(self._channel)
        self._streams: WeakSet[AsyncStream[Any, Any]] = WeakSet()
        self._closed = False

    async def unary(
        self,
        rpc: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Call and wait for the answer, at most ``timeout`` seconds."""
        try:
            return await rpc(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise failure(error) from error

    def stream(
        self,
        rpc: grpc.aio.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        *,
        wait_for_ready: bool = False,
    ) -> AsyncStream[Request, Response]:
        """Begin a call that answers again and again, without a limit of time.

        It may wait for a connection as long as that takes, instead of failing.
        """
        if self._closed:
            raise client_closed()
        stream = AsyncStream(rpc(request, metadata=self._metadata, wait_for_ready=wait_for_ready))
        self._streams.add(stream)
        return stream

    async def close(self) -> None:
        """End the connection and all calls on it.

        gRPC's own close finds the streams that somebody reads, and no others.
        """
        self._closed = True
        for stream in list(self._streams):
            await stream.close()
        await self._channel.close()


class AsyncStream(Generic[Request, Response]):
    """The answers to one call. One task may read at a time."""

    def __init__(self, call: grpc.aio.UnaryStreamCall[Request, Response]) -> None:
        """Take over a call that has begun."""
        self._call = call
        self._reading: asyncio.Future[object] | None = None

    async def read(self, timeout: float | None = None) -> Response | None:
        """Wait for the next answer; None after the last one.

        After ``timeout`` seconds the call is ended, and Unavailable raised.

        gRPC would cancel the whole call with the task that reads. So the reading
        has a task of its own, which outlives a cancelled reader, and the next
        reader gets what it brings.
        """
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._call.read())
        await asyncio.wait([self._reading], timeout=timeout)
        if timeout is not None and not self._reading.done():
            await self.close()
            raise silent(timeout)
        reading, self._reading = self._reading, None
        try:
            response = reading.result()
        except grpc.RpcError as error:
            raise failure(error) from error
        except asyncio.CancelledError:
            raise Cancelled(grpc.StatusCode.CANCELLED, "the call was cancelled") from None
        return None if response is EOF else cast(Response, response)

    async def close(self) -> None:
        """End the call: a reader that waits gets Cancelled."""
        self._call.cancel()
        if (reading := self._reading) is not None:
            await asyncio.wait([reading])
            reading.cancelled() or reading.exception()  # nobody else may ask


class AsyncLatch:
    """What happens once, and can be waited for."""

    def __init__(self) -> None:
        """Begin before it has happened."""
        self._event = asyncio.Event()

    def set(self) -> None:
        """Say that it has happened."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._event.is_set()

    async def wait(self, timeout: float) -> None:
        """Wait for it, at most ``timeout`` seconds."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._event.wait(), timeout)
