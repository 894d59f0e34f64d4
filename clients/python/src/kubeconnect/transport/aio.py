"""The service over gRPC, for asyncio."""

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

from kubeconnect.address import Address
from kubeconnect.errors import Cancelled, KubeconnectError, Unauthenticated
from kubeconnect.transport.failures import client_closed, failure, retry_delay, silent
from kubeconnect.transport.options import channel_credentials, channel_options, remaining
from kubeconnect.transport.tokens import Metadata, bearer, token_function
from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceStub
from kubeconnect.v1.pod_service_pb2_grpc import PodServiceStub
from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceStub

if TYPE_CHECKING:
    from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceAsyncStub
    from kubeconnect.v1.pod_service_pb2_grpc import PodServiceAsyncStub
    from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceAsyncStub

Request = TypeVar("Request")
Response = TypeVar("Response")

AsyncToken: TypeAlias = str | Callable[[], str | Awaitable[str]]
"""A fixed token, or a function, which may be async, that returns the token of each call."""


class AsyncConnection:
    """A channel, and the calls on it."""

    discovery: DiscoveryServiceAsyncStub
    pods: PodServiceAsyncStub
    resources: ResourceServiceAsyncStub

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Take over a channel."""
        self.channel = channel
        self.discovery = DiscoveryServiceStub(channel)
        self.pods = PodServiceStub(channel)
        self.resources = ResourceServiceStub(channel)
        self._rpcs = {id(rpc) for stub in self._stubs() for rpc in vars(stub).values()}
        self.streams: WeakSet[AsyncStream[Any, Any]] = WeakSet()
        self.calls = 0

    def _stubs(self) -> tuple[object, ...]:
        return (self.discovery, self.pods, self.resources)

    def has(self, rpc: object) -> bool:
        """Whether the method is one of this connection."""
        return id(rpc) in self._rpcs

    @property
    def idle(self) -> bool:
        """Whether no call is under way."""
        return self.calls == 0 and all(stream.ended for stream in self.streams)


class AsyncTransport:
    """A connection, and those that it has taken the place of while calls go on there. Belongs
    to the event loop that it is made in.
    """

    def __init__(
        self,
        address: Address,
        token: AsyncToken | None,
        token_file: str | os.PathLike[str] | None,
        ca_file: str | os.PathLike[str] | None,
    ) -> None:
        """Check the arguments; the connection is made with the first call."""
        asyncio.get_running_loop()
        self._token = token_function(address, token, token_file)
        self.renews_token = callable(token) or token_file is not None
        credentials = channel_credentials(address, ca_file)
        options = channel_options(address)

        def connect() -> AsyncConnection:
            if credentials:
                return AsyncConnection(
                    grpc.aio.secure_channel(address.target, credentials, options)
                )
            return AsyncConnection(grpc.aio.insecure_channel(address.target, options))

        self._connect = connect
        self._connections = [connect()]  # the last one is for new calls
        self._closed = False

    @property
    def discovery(self) -> DiscoveryServiceAsyncStub:
        """Where calls about resource types go."""
        return self._connections[-1].discovery

    @property
    def pods(self) -> PodServiceAsyncStub:
        """Where calls for logs go."""
        return self._connections[-1].pods

    @property
    def resources(self) -> ResourceServiceAsyncStub:
        """Where all other calls go."""
        return self._connections[-1].resources

    async def read(
        self,
        rpc: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call that changes nothing. One that is refused with the time to come back at
        is made again then, if that is within ``timeout``.
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
                await asyncio.sleep(delay)
                if self._closed:
                    raise client_closed()

    async def unary(
        self,
        rpc: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Call and wait for the answer, at most ``timeout`` seconds.

        A call that is refused as unauthenticated is made again, once, if there is another
        token by then.
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
            refused = failure(error)
            if not (self.renews_token and isinstance(refused, Unauthenticated)):
                raise refused from error
        fresh = await self._metadata()
        if fresh == metadata:
            raise refused
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
    ) -> AsyncStream[Request, Response]:
        """Return a call that answers again and again, without a limit of time.

        It begins with the first read. It may wait for a connection as long as that takes,
        instead of failing.
        """
        if self._closed:
            raise client_closed()

        def begin(metadata: Metadata) -> grpc.aio.UnaryStreamCall[Request, Response]:
            return rpc(request, metadata=metadata, wait_for_ready=wait_for_ready)

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
        """Keep the connection of a call open."""
        connection = self._connection_of(rpc)
        connection.calls += 1
        try:
            yield
        finally:
            connection.calls -= 1

    async def _leave(self, connection: AsyncConnection) -> None:
        """Have later calls use another connection, which may lead to another replica.

        Calls that are under way go on where they are. Streams that leave a connection together
        come to the same new one.
        """
        if self._closed or connection is not self._connections[-1]:
            return
        kept = [each for each in self._connections if not each.idle]
        over = [each for each in self._connections if each.idle]
        self._connections = [*kept, self._connect()]
        for each in over:
            await each.channel.close()

    async def _metadata(self) -> Metadata:
        """Return what the next call carries."""
        if self._token is None:
            return ()
        token = self._token()
        return bearer(await token if inspect.isawaitable(token) else token)

    async def close(self) -> None:
        """End the connection and all calls on it.

        gRPC's own close finds the streams that somebody reads, and no others.
        """
        self._closed = True
        for connection in self._connections:
            for stream in list(connection.streams):
                await stream.close()
            await connection.channel.close()


class AsyncStream(Generic[Request, Response]):
    """The answers to one call. One task may read at a time."""

    def __init__(
        self,
        begin: Callable[[Metadata], grpc.aio.UnaryStreamCall[Request, Response]],
        metadata: Callable[[], Awaitable[Metadata]],
        leave: Callable[[], Awaitable[None]],
        *,
        renews: bool,
    ) -> None:
        """Keep how the call begins; with ``renews`` there may be another token later.

        ``leave`` has later calls use another connection.
        """
        self._begin = begin
        self._metadata = metadata
        self._leave = leave
        self._renews = renews
        self._call: grpc.aio.UnaryStreamCall[Request, Response] | None = None
        self._opened = False  # by the first answer
        self._reading: asyncio.Future[object] | None = None
        self._closed = False

    async def read(self, timeout: float | None = None) -> Response | None:
        """Wait for the next answer; None after the last one.

        After ``timeout`` seconds the call is ended, its connection left, and Unavailable
        raised.

        gRPC would cancel the whole call with the task that reads. So the reading
        has a task of its own, which outlives a cancelled reader, and the next
        reader gets what it brings.
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
        """Whether the call is over."""
        return self._closed or (self._call is not None and self._call.done())

    async def leave(self) -> None:
        """End the call, and have later ones use another connection."""
        await self.close()
        await self._leave()

    async def close(self) -> None:
        """End the call: a reader that waits gets Cancelled."""
        self._closed = True
        if self._call is not None:
            self._call.cancel()
        if (reading := self._reading) is not None:
            reading.cancel()  # it may wait for a token
            await asyncio.wait([reading])
            reading.cancelled() or reading.exception()  # nobody else may ask

    async def _next(self) -> object:
        """Return the next answer; the first one is preceded by the call itself."""
        if self._opened and self._call is not None:
            return await self._call.read()
        metadata = await self._metadata()
        try:
            answer = await self._first(metadata)
        except grpc.RpcError as error:
            if not (self._renews and isinstance(failure(error), Unauthenticated)):
                raise
            fresh = await self._metadata()
            if fresh == metadata:
                raise
            answer = await self._first(fresh)
        self._opened = True
        return answer

    async def _first(self, metadata: Metadata) -> object:
        self._call = self._begin(metadata)
        return await self._call.read()


def _cancelled() -> Cancelled:
    return Cancelled(grpc.StatusCode.CANCELLED, "the call was cancelled")


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
