"""The gRPC transport for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast
from weakref import WeakSet

import grpc
import grpc.aio
from grpc.aio import EOF  # type: ignore[attr-defined]  # not in its stubs

from kubeconnect._address import Address
from kubeconnect._errors import Cancelled, KubeconnectError, Unauthenticated
from kubeconnect._fencing import check_fence
from kubeconnect._transport.failures import client_closed, failure, retry_delay, silent
from kubeconnect._transport.options import channel_options, remaining
from kubeconnect._transport.tokens import Metadata, bearer, token_function
from kubeconnect.v1.access_service_pb2_grpc import AccessServiceStub
from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceStub
from kubeconnect.v1.pod_service_pb2_grpc import PodServiceStub
from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceStub

if TYPE_CHECKING:
    from kubeconnect.v1.access_service_pb2_grpc import AccessServiceAsyncStub
    from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceAsyncStub
    from kubeconnect.v1.pod_service_pb2_grpc import PodServiceAsyncStub
    from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceAsyncStub

Request = TypeVar("Request")
Response = TypeVar("Response")

AsyncToken: TypeAlias = str | Callable[[], str | Awaitable[str]]
"""A fixed token, or a function that returns the token of each call and may be async."""


class AsyncConnection:
    """A channel and its calls."""

    access: AccessServiceAsyncStub
    discovery: DiscoveryServiceAsyncStub
    pods: PodServiceAsyncStub
    resources: ResourceServiceAsyncStub

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Create the stubs of a channel."""
        self.channel = channel
        self.access = AccessServiceStub(channel)
        self.discovery = DiscoveryServiceStub(channel)
        self.pods = PodServiceStub(channel)
        self.resources = ResourceServiceStub(channel)
        self._rpcs = {id(rpc) for stub in self._stubs() for rpc in vars(stub).values()}
        self.streams: WeakSet[AsyncStream[Any, Any]] = WeakSet()
        self.calls = 0

    def _stubs(self) -> tuple[object, ...]:
        return (self.access, self.discovery, self.pods, self.resources)

    def has(self, rpc: object) -> bool:
        """Return whether the method belongs to this connection."""
        return id(rpc) in self._rpcs

    @property
    def idle(self) -> bool:
        """Whether the connection has no open calls."""
        return self.calls == 0 and all(stream.ended for stream in self.streams)


class AsyncTransport:
    """The current connection, and earlier connections that still have calls. It belongs to the
    event loop that creates it.
    """

    def __init__(
        self,
        address: Address,
        token: AsyncToken | None,
        token_file: str | os.PathLike[str] | None,
        credentials: grpc.ChannelCredentials | None,
    ) -> None:
        """Validate the token. The connection is opened with the first call.

        Without ``credentials`` it is in plain text.
        """
        asyncio.get_running_loop()
        self._token = token_function(address, token, token_file)
        self.renews_token = callable(token) or token_file is not None
        options = channel_options(address)

        def connect() -> AsyncConnection:
            if credentials:
                return AsyncConnection(
                    grpc.aio.secure_channel(address.target, credentials, options)
                )
            return AsyncConnection(grpc.aio.insecure_channel(address.target, options))

        self._connect = connect
        self._connections = [connect()]  # the last one is for new calls
        self._closed = AsyncLatch()

    @property
    def access(self) -> AccessServiceAsyncStub:
        """The stub for identity and permissions."""
        return self._connections[-1].access

    @property
    def discovery(self) -> DiscoveryServiceAsyncStub:
        """The stub for discovery calls."""
        return self._connections[-1].discovery

    @property
    def pods(self) -> PodServiceAsyncStub:
        """The stub for log calls."""
        return self._connections[-1].pods

    @property
    def resources(self) -> ResourceServiceAsyncStub:
        """The stub for all other calls."""
        return self._connections[-1].resources

    async def read(
        self,
        rpc: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a read call and return its response. A call that is rejected with a retry delay
        is retried after that delay, if ``timeout`` allows.
        """
        begin = monotonic()
        with self._using(rpc):
            while True:
                try:
                    return await self.unary(rpc, request, remaining(timeout, begin))
                except KubeconnectError as error:
                    delay = retry_delay(error, remaining(timeout, begin))
                    if delay is None:
                        raise
                await self._closed.wait(delay)
                if self._closed.is_set():
                    raise client_closed()

    async def write(
        self,
        rpc: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call that changes objects and return its response. Raises LeadershipLost if
        the caller may write as a leader only, and is not the leader any more.
        """
        check_fence()
        return await self.unary(rpc, request, timeout)

    async def unary(
        self,
        rpc: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call and return its response, waiting for at most ``timeout`` seconds.

        A call that is rejected as unauthenticated is retried once if the token is a
        different one by then.
        """
        with self._using(rpc):
            return await self._unary(rpc, request, timeout)

    async def _unary(
        self,
        rpc: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        begin = monotonic()
        metadata = await self._metadata()
        try:
            return await rpc(request, timeout=timeout, metadata=metadata)
        except grpc.RpcError as error:
            rejection = failure(error)
            if not (self.renews_token and isinstance(rejection, Unauthenticated)):
                raise rejection from error
        fresh = await self._metadata()
        if fresh == metadata:
            raise rejection
        try:
            return await rpc(request, timeout=remaining(timeout, begin), metadata=fresh)
        except grpc.RpcError as error:
            raise failure(error) from error

    def stream(
        self,
        rpc: grpc.aio.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        *,
        wait_for_ready: bool = False,
        timeout: float | None = None,
    ) -> AsyncStream[Request, Response]:
        """Return a server-streaming call, which ends after ``timeout`` seconds; None: no limit.

        The call begins with the first read. With ``wait_for_ready`` it waits for a connection
        instead of failing.
        """
        if self._closed.is_set():
            raise client_closed()
        first = monotonic()

        def begin(metadata: Metadata) -> grpc.aio.UnaryStreamCall[Request, Response]:
            rest = remaining(timeout, first)
            return rpc(request, timeout=rest, metadata=metadata, wait_for_ready=wait_for_ready)

        connection = self._connection_of(rpc)
        stream = AsyncStream(
            begin, self._metadata, lambda: self._leave(connection), renews=self.renews_token
        )
        connection.streams.add(stream)
        return stream

    def _connection_of(self, rpc: object) -> AsyncConnection:
        return next(each for each in self._connections if each.has(rpc))

    @contextmanager
    def _using(self, rpc: object) -> Iterator[None]:
        """Count a call, so that its connection is kept open."""
        if self._closed.is_set():
            raise client_closed()
        connection = self._connection_of(rpc)
        connection.calls += 1
        try:
            yield
        except (Cancelled, asyncio.CancelledError, grpc.aio.UsageError):
            # gRPC raises one of these if its channel is closed.
            if self._closed.is_set() and not _is_being_cancelled():
                raise client_closed() from None
            raise
        finally:
            connection.calls -= 1

    async def _leave(self, connection: AsyncConnection) -> None:
        """Open another connection, which may lead to another replica, for later calls.

        Open calls continue on their connections. Streams that leave the same connection
        share the new one.
        """
        if self._closed.is_set() or connection is not self._connections[-1]:
            return
        in_use = [each for each in self._connections if not each.idle]
        unused = [each for each in self._connections if each.idle]
        self._connections = [*in_use, self._connect()]
        for each in unused:
            await each.channel.close()

    async def _metadata(self) -> Metadata:
        """Return the metadata of the next call."""
        if self._token is None:
            return ()
        token = self._token()
        return bearer(await token if inspect.isawaitable(token) else token)

    async def close(self) -> None:
        """Close all connections and all calls on them.

        Streams are closed first, because gRPC's close cancels only streams that have a
        reader.
        """
        self._closed.set()
        for connection in self._connections:
            for stream in list(connection.streams):
                await stream.close()
            await connection.channel.close()


class AsyncStream(Generic[Request, Response]):
    """The responses of one streaming call. Only one task may read at a time."""

    def __init__(
        self,
        begin: Callable[[Metadata], grpc.aio.UnaryStreamCall[Request, Response]],
        metadata: Callable[[], Awaitable[Metadata]],
        leave: Callable[[], Awaitable[None]],
        *,
        renews: bool,
    ) -> None:
        """Store the functions of the call, which is not begun yet.

        With ``renews``, ``metadata`` may return another token later. ``leave`` makes later
        calls use another connection.
        """
        self._begin = begin
        self._metadata = metadata
        self._leave = leave
        self._renews = renews
        self._call: grpc.aio.UnaryStreamCall[Request, Response] | None = None
        self._opened = False  # set by the first response
        self._reading: asyncio.Future[object] | None = None
        self._closed = False

    async def read(self, timeout: float | None = None) -> Response | None:
        """Wait for the next response and return it; None after the last one.

        After ``timeout`` seconds the call is ended, Unavailable is raised, and later calls
        use another connection.

        gRPC would cancel the call if its reading task were cancelled. So a separate task
        reads, which outlives a cancelled reader. The next reader gets its result.
        """
        if self._closed:
            raise _cancelled()
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._next())
        await asyncio.wait([self._reading], timeout=timeout)
        if timeout is not None and not self._reading.done():
            await self.leave()
            raise silent(timeout)
        reading, self._reading = self._reading, None
        try:
            response = reading.result()
        except grpc.RpcError as error:
            raise failure(error) from error
        except asyncio.CancelledError:
            raise _cancelled() from None
        return None if response is EOF else cast(Response, response)

    @property
    def ended(self) -> bool:
        """Whether the call has ended."""
        return self._closed or (self._call is not None and self._call.done())

    async def leave(self) -> None:
        """End the call, and use another connection for later calls."""
        await self.close()
        await self._leave()

    async def close(self) -> None:
        """End the call. A waiting reader raises Cancelled."""
        self._closed = True
        if self._call is not None:
            self._call.cancel()
        if (reading := self._reading) is not None:
            reading.cancel()  # it may be waiting for a token
            await asyncio.wait([reading])
            # Retrieve the exception, which asyncio would log otherwise.
            reading.cancelled() or reading.exception()

    async def _next(self) -> object:
        """Return the next response. The first time, begin the call."""
        if self._opened and self._call is not None:
            return await self._call.read()
        metadata = await self._metadata()
        try:
            response = await self._first(metadata)
        except grpc.RpcError as error:
            if not (self._renews and isinstance(failure(error), Unauthenticated)):
                raise
            fresh = await self._metadata()
            if fresh == metadata:
                raise
            response = await self._first(fresh)
        self._opened = True
        return response

    async def _first(self, metadata: Metadata) -> object:
        self._call = self._begin(metadata)
        return await self._call.read()


def _is_being_cancelled() -> bool:
    """Return whether the current task is being cancelled. Python 3.10 does not report it."""
    cancelling = getattr(asyncio.current_task(), "cancelling", None)
    return bool(cancelling and cancelling())


def _cancelled() -> Cancelled:
    return Cancelled(grpc.StatusCode.CANCELLED, "the call was cancelled")


class AsyncLatch:
    """A one-shot asyncio event."""

    def __init__(self) -> None:
        """Begin unset."""
        self._event = asyncio.Event()

    def set(self) -> None:
        """Set the latch, which wakes all waiting tasks."""
        self._event.set()

    def is_set(self) -> bool:
        """Return whether the latch is set."""
        return self._event.is_set()

    async def wait(self, timeout: float | None = None) -> None:
        """Wait until the latch is set, for at most ``timeout`` seconds if it is not None."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._event.wait(), timeout)
