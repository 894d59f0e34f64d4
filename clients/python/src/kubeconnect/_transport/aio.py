"""The gRPC transport for asyncio."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, TypeAlias, TypeVar, cast
from weakref import WeakSet

import grpc
import grpc.aio
from grpc.aio import EOF  # type: ignore[attr-defined]  # not in its stubs

from kubeconnect._address import Address
from kubeconnect._errors import Cancelled, KubeconnectError, Unauthenticated
from kubeconnect._fencing import check_fence
from kubeconnect._transport.failures import client_closed, failure, silent
from kubeconnect._transport.identity import Identity, KeyPair, Metadata, Presented
from kubeconnect._transport.methods import AsyncMethods, Bound
from kubeconnect._transport.options import channel_credentials, channel_options, remaining
from kubeconnect._transport.retries import retry_delay
from kubeconnect._transport.tokens import bearer
from kubeconnect._transport.tracing import trace_context

Request = TypeVar("Request")
Response = TypeVar("Response")

AsyncToken: TypeAlias = str | Callable[[], str | Awaitable[str]]
"""A fixed token, or a function that returns the token of each call and may be async."""

SentToken: TypeAlias = str | Awaitable[str | None] | None
"""The result of a token function: None for no token."""


class AsyncConnection:
    """A channel and its calls."""

    def __init__(self, channel: grpc.aio.Channel, pair: KeyPair | None) -> None:
        """Begin without calls. ``pair`` is the client certificate of the channel."""
        self.channel = channel
        self.pair = pair
        self.bound = Bound(channel)
        self.streams: WeakSet[AsyncStream[Any, Any]] = WeakSet()
        self.calls = 0

    @property
    def idle(self) -> bool:
        """Whether the connection has no open calls."""
        return self.calls == 0 and all(stream.ended for stream in self.streams)


class AsyncTransport(AsyncMethods):
    """The current connection, and earlier connections that still have calls. It belongs to the
    event loop that creates it.
    """

    def __init__(
        self, address: Address, identity: Identity[SentToken], roots: bytes | None
    ) -> None:
        """Store the arguments. The connection is opened with the first call.

        ``roots`` are the CA certificates to trust; None for gRPC's own.
        """
        _require_event_loop()
        super().__init__()
        self.renews = identity.renews
        self._identity = identity
        self.address = address
        self.roots = roots
        self._options = channel_options(address)
        self._connections: list[AsyncConnection] = []  # the last one is for new calls
        self._streams: WeakSet[AsyncStream[Any, Any]] = WeakSet()
        self._reached = False  # set by the first response of the service
        self._closed = AsyncLatch()

    async def read(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call that changes nothing, and return its response. The call is retried while
        ``timeout`` allows: after the retry delay of the service if it was rejected with one, and
        after a short delay if the connection was lost.
        """
        begin, attempt = monotonic(), 0
        while True:
            try:
                return await self.unary(method, request, remaining(timeout, begin))
            except KubeconnectError as error:
                rest = remaining(timeout, begin)
                delay = retry_delay(error, rest, attempt, reached=self._reached)
                if delay is None:
                    raise
            attempt += 1
            await self._closed.wait(delay)

    async def write(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call that changes objects and return its response. A dry run, which changes
        nothing, is retried as reads are. Raises LeadershipLost if the caller may write as a
        leader only, and is not the leader any more.
        """
        check_fence()
        if getattr(request, "dry_run", False):
            return await self.read(method, request, timeout)
        return await self.unary(method, request, timeout)

    async def unary(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call and return its response, waiting for at most ``timeout`` seconds.

        A call that is rejected as unauthenticated is retried once if the credentials are
        different ones by then.
        """
        begin = monotonic()
        presented = await self.present(timeout)
        try:
            return await self._call(method, request, self.rest(timeout, begin), presented)
        except Unauthenticated:
            fresh = await self.renewed(presented, self.rest(timeout, begin))
            if fresh is None:
                raise
        return await self._call(method, request, self.rest(timeout, begin), fresh)

    def rest(self, timeout: float | None, begin: float) -> float | None:
        """Return the rest of the timeout of a call that began at ``begin``. The timeout is for each
        step of the call if the user may be asked for something.
        """
        return timeout if self._identity.asks() else remaining(timeout, begin)

    async def _call(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
        presented: Presented,
    ) -> Response:
        connection = await self._connection_with(presented.pair)
        with self._using(connection):
            try:
                call = connection.bound(method)
                metadata = presented.metadata + trace_context()
                response = await call(request, timeout=timeout, metadata=metadata)
            except grpc.RpcError as error:
                raise failure(error, self.address) from None
        self._reached = True
        return response

    def stream(
        self,
        method: grpc.aio.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,
    ) -> AsyncStream[Request, Response]:
        """Return a server-streaming call, which ends after ``timeout`` seconds; None: no limit.

        The call begins with the first read. It is in the trace that is current now.
        """
        return self.opener(method)(request, False, timeout)

    def opener(
        self, method: grpc.aio.UnaryStreamMultiCallable[Request, Response]
    ) -> Callable[[Request, bool, float | None], AsyncStream[Request, Response]]:
        """Return a function that returns calls of a server-streaming method, as ``stream`` does.
        All of them are in the trace that is current now.

        Its arguments are the request, whether the call waits for a connection instead of failing,
        and the timeout.
        """
        trace = trace_context()
        return lambda request, wait, timeout: self._stream(method, request, wait, timeout, trace)

    def _stream(
        self,
        method: grpc.aio.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        wait_for_ready: bool,
        timeout: float | None,
        trace: Metadata,
    ) -> AsyncStream[Request, Response]:
        if self._closed.is_set():
            raise client_closed()
        first = monotonic()

        async def begin(presented: Presented) -> Begun[Request, Response]:
            connection = await self._connection_with(presented.pair)
            call = connection.bound(method)(
                request,
                timeout=self.rest(timeout, first),
                metadata=presented.metadata + trace,
                wait_for_ready=wait_for_ready,
            )
            return Begun(call, connection)

        stream = AsyncStream(self, begin, lambda: self.rest(timeout, first))
        self._streams.add(stream)
        return stream

    @property
    def closed(self) -> bool:
        """Whether the transport is closed."""
        return self._closed.is_set()

    async def present(self, timeout: float | None) -> Presented:
        """Return what the next call, which has ``timeout`` seconds, presents to the service."""
        if self._identity.token is None:
            return Presented((), self._identity.pair())
        token = self._identity.token(timeout)
        text = await token if inspect.isawaitable(token) else token
        return Presented(() if text is None else bearer(text), self._identity.pair())

    async def renewed(self, rejected: Presented, timeout: float | None) -> Presented | None:
        """Return what to present after a rejection; None if there is nothing else."""
        if not self.renews:
            return None
        self._identity.discard(rejected)
        fresh = await self.present(timeout)
        return None if fresh == rejected else fresh

    async def _connection_with(self, pair: KeyPair | None) -> AsyncConnection:
        """Return the connection for new calls, which has this client certificate. If the
        certificate was renewed, it is another one: a connection keeps its certificate.
        """
        if self._closed.is_set():
            raise client_closed()
        if not self._connections or self._connections[-1].pair != pair:
            await self._replace(pair)
        return self._connections[-1]

    async def leave(self, connection: AsyncConnection) -> None:
        """Open another connection, which may lead to another replica, for later calls.

        Open calls continue on their connections. Streams that leave the same connection
        share the new one.
        """
        if not self._closed.is_set() and connection is self._connections[-1]:
            await self._replace(connection.pair)

    async def _replace(self, pair: KeyPair | None) -> None:
        """Use a new connection for new calls, and close those that have no calls."""
        in_use = [each for each in self._connections if not each.idle]
        unused = [each for each in self._connections if each.idle]
        self._connections = [*in_use, AsyncConnection(self._open(pair), pair)]
        for each in unused:
            await each.channel.close()

    def _open(self, pair: KeyPair | None) -> grpc.aio.Channel:
        target = self.address.target
        if not self.address.tls:
            return grpc.aio.insecure_channel(target, self._options)
        credentials = channel_credentials(self.roots, pair)
        return grpc.aio.secure_channel(target, credentials, self._options)

    @contextmanager
    def _using(self, connection: AsyncConnection) -> Iterator[None]:
        """Count a call, so that its connection is kept open."""
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

    async def close(self) -> None:
        """Close all connections and all calls on them.

        Streams are closed first, because gRPC's close cancels only streams that have a
        reader.
        """
        self._closed.set()
        self._identity.close()
        for stream in list(self._streams):
            await stream.close()
        for connection in self._connections:
            await connection.channel.close()


@dataclass(frozen=True)
class Begun(Generic[Request, Response]):
    """A streaming call that has begun, and its connection."""

    call: grpc.aio.UnaryStreamCall[Request, Response]
    connection: AsyncConnection


class AsyncStream(Generic[Request, Response]):
    """The responses of one streaming call. Only one task may read at a time."""

    def __init__(
        self,
        transport: AsyncTransport,
        begin: Callable[[Presented], Awaitable[Begun[Request, Response]]],
        rest: Callable[[], float | None],
    ) -> None:
        """Store the functions that begin the call, which is not begun yet, and that return the
        rest of its timeout.
        """
        self._transport = transport
        self._begin = begin
        self._rest = rest
        self._begun: Begun[Request, Response] | None = None
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
            raise failure(error, self._transport.address) from None
        except asyncio.CancelledError:
            raise _cancelled() from None
        return None if response is EOF else cast(Response, response)

    @property
    def ended(self) -> bool:
        """Whether the call has ended."""
        return self._closed or (self._begun is not None and self._begun.call.done())

    async def leave(self) -> None:
        """End the call, and use another connection for later calls."""
        await self.close()
        if self._begun is not None:
            await self._transport.leave(self._begun.connection)

    async def close(self) -> None:
        """End the call. A waiting reader raises Cancelled."""
        self._closed = True
        if self._begun is not None:
            self._begun.call.cancel()
        if (reading := self._reading) is not None:
            reading.cancel()  # it may be waiting for a token
            await asyncio.wait([reading])
            # Retrieve the exception, which asyncio would log otherwise.
            reading.cancelled() or reading.exception()

    async def _next(self) -> object:
        """Return the next response. The first time, begin the call."""
        if self._opened and self._begun is not None:
            return await self._begun.call.read()
        presented = await self._transport.present(self._rest())
        try:
            response = await self._first(presented)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAUTHENTICATED:
                raise
            fresh = await self._transport.renewed(presented, self._rest())
            if fresh is None:
                raise
            response = await self._first(fresh)
        self._opened = True
        return response

    async def _first(self, presented: Presented) -> object:
        self._begun = await self._begin(presented)
        self._begun.connection.streams.add(self)
        return await self._begun.call.read()


def _require_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        problem = "no running event loop: create the client in an async function"
        raise RuntimeError(problem) from None


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
