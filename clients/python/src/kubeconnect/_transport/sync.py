"""The gRPC transport for threads."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

import grpc

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

Request = TypeVar("Request")
Response = TypeVar("Response")
Received = TypeVar("Received", covariant=True)

Token: TypeAlias = str | Callable[[], str]
"""A fixed token, or a function that returns the token of each call."""


class Connection:
    """A channel and its calls. The transport's lock guards ``streams`` and ``calls``."""

    def __init__(self, channel: grpc.Channel) -> None:
        """Create the stubs of a channel."""
        self.channel = channel
        self.access = AccessServiceStub(channel)
        self.discovery = DiscoveryServiceStub(channel)
        self.pods = PodServiceStub(channel)
        self.resources = ResourceServiceStub(channel)
        self._rpcs = {id(rpc) for stub in self._stubs() for rpc in vars(stub).values()}
        self.streams: weakref.WeakSet[Stream[Any, Any]] = weakref.WeakSet()
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


class Transport:
    """The current connection, and earlier connections that still have calls. Safe for
    concurrent use by threads; must not be used after a fork.
    """

    def __init__(
        self,
        address: Address,
        token: Token | None,
        token_file: str | os.PathLike[str] | None,
        credentials: grpc.ChannelCredentials | None,
    ) -> None:
        """Validate the token. The connection is opened with the first call.

        Without ``credentials`` it is in plain text.
        """
        self._token = token_function(address, token, token_file)
        self.renews_token = callable(token) or token_file is not None
        options = channel_options(address)

        def connect() -> Connection:
            if credentials:
                return Connection(grpc.secure_channel(address.target, credentials, options))
            return Connection(grpc.insecure_channel(address.target, options))

        self._connect = connect
        # Guards the attributes below, and ``streams`` and ``calls`` of the connections.
        self._lock = threading.Lock()
        self._connections = [connect()]  # the last one is for new calls
        self._closed_event = threading.Event()

    @property
    def access(self) -> AccessServiceStub:
        """The stub for identity and permissions."""
        return self._connections[-1].access

    @property
    def discovery(self) -> DiscoveryServiceStub:
        """The stub for discovery calls."""
        return self._connections[-1].discovery

    @property
    def pods(self) -> PodServiceStub:
        """The stub for log calls."""
        return self._connections[-1].pods

    @property
    def resources(self) -> ResourceServiceStub:
        """The stub for all other calls."""
        return self._connections[-1].resources

    def read(
        self,
        rpc: grpc.UnaryUnaryMultiCallable[Request, Response],
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
                    return self.unary(rpc, request, remaining(timeout, begin))
                except KubeconnectError as error:
                    delay = retry_delay(error, remaining(timeout, begin))
                    if delay is None:
                        raise
                if self._closed_event.wait(delay):
                    raise client_closed()

    def write(
        self,
        rpc: grpc.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call that changes objects and return its response. Raises LeadershipLost if
        the caller may write as a leader only, and is not the leader any more.
        """
        check_fence()
        return self.unary(rpc, request, timeout)

    def unary(
        self,
        rpc: grpc.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call and return its response, waiting for at most ``timeout`` seconds.

        A call that is rejected as unauthenticated is retried once if the token is a
        different one by then.
        """
        with self._using(rpc):
            return self._unary(rpc, request, timeout)

    def _unary(
        self,
        rpc: grpc.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        begin = monotonic()
        metadata = self._metadata()
        try:
            return rpc(request, timeout=timeout, metadata=metadata)
        except grpc.RpcError as error:
            rejection = failure(error)
            if not (self.renews_token and isinstance(rejection, Unauthenticated)):
                raise rejection from error
        fresh = self._metadata()
        if fresh == metadata:
            raise rejection
        try:
            return rpc(request, timeout=remaining(timeout, begin), metadata=fresh)
        except grpc.RpcError as error:
            raise failure(error) from error

    def stream(
        self,
        rpc: grpc.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        *,
        wait_for_ready: bool = False,
        timeout: float | None = None,
    ) -> Stream[Request, Response]:
        """Begin a server-streaming call, which ends after ``timeout`` seconds; None: no limit.

        With ``wait_for_ready`` it waits for a connection instead of failing.
        """
        first = monotonic()

        def begin(metadata: Metadata) -> Call[Response]:
            rest = remaining(timeout, first)
            return rpc(request, timeout=rest, metadata=metadata, wait_for_ready=wait_for_ready)

        with self._using(rpc) as connection:
            metadata = self._metadata()

            def renewed() -> Call[Response] | None:
                fresh = self._metadata()
                return None if fresh == metadata else begin(fresh)

            stream = Stream[Request, Response](
                begin(metadata),
                renewed if self.renews_token else None,
                lambda: self._leave(connection),
            )
            with self._lock:
                connection.streams.add(stream)
            if self._closed_event.is_set():  # close() ran meanwhile and has not closed it
                stream.close()
        return stream

    @contextmanager
    def _using(self, rpc: object) -> Iterator[Connection]:
        """Keep the connection of a call open."""
        if self._closed_event.is_set():
            raise client_closed()
        with self._lock:
            connection = next(each for each in self._connections if each.has(rpc))
            connection.calls += 1
        try:
            yield connection
        except (Cancelled, ValueError):  # gRPC raises ValueError if its channel is closed
            if self._closed_event.is_set():
                raise client_closed() from None
            raise
        finally:
            with self._lock:
                connection.calls -= 1

    def _leave(self, connection: Connection) -> None:
        """Open another connection, which may lead to another replica, for later calls.

        Open calls continue on their connections. Streams that leave the same connection
        share the new one.
        """
        with self._lock:
            if self._closed_event.is_set() or connection is not self._connections[-1]:
                return
            unused = [each for each in self._connections if each.idle]
            self._connections = [each for each in self._connections if each not in unused]
            self._connections.append(self._connect())
        for each in unused:
            each.channel.close()

    def _metadata(self) -> Metadata:
        """Return what the next call carries."""
        return () if self._token is None else bearer(self._token())

    def close(self) -> None:
        """Close all connections and all calls on them.

        Streams are closed first, because gRPC's close does not end the threads that enforce
        their timeouts.
        """
        self._closed_event.set()
        with self._lock:
            connections = list(self._connections)
            streams = [stream for each in connections for stream in each.streams]
        for stream in streams:
            stream.close()
        for connection in connections:
            connection.channel.close()


class Call(Protocol[Received]):
    """A streaming call of gRPC."""

    def __next__(self) -> Received:
        """Wait for the next response and return it."""

    def cancel(self) -> bool:
        """End the call."""

    def is_active(self) -> bool:
        """Return whether the call has not ended."""


class Stream(Generic[Request, Response]):
    """The responses of one streaming call. Only one thread may read at a time. Any thread may
    close the stream.
    """

    def __init__(
        self,
        call: Call[Response],
        renewed: Callable[[], Call[Response] | None] | None,
        leave: Callable[[], None],
    ) -> None:
        """Read from ``call``, which has begun.

        If the call is rejected as unauthenticated, ``renewed`` begins it again with another
        token, or returns None if there is no other token. ``leave`` makes later calls use
        another connection.
        """
        self._call = call
        self._renewed = renewed  # None after the first response
        self._leave = leave
        self._closed = False
        self._guard = _Guard(0.0)
        self._silent_at: float | None = None  # set while a reader waits
        self._silent = False

    def read(self, timeout: float | None = None) -> Response | None:
        """Wait for the next response and return it; None after the last one.

        After ``timeout`` seconds the call is ended, Unavailable is raised, and later calls
        use another connection.
        """
        try:
            response = self._read(timeout)
        except Unauthenticated:
            if not self._retry_with_new_token():
                raise
            response = self._read(timeout)
        self._renewed = None
        return response

    @property
    def ended(self) -> bool:
        """Whether the call has ended."""
        return self._closed or not self._call.is_active()

    def leave(self) -> None:
        """End the call, and use another connection for later calls."""
        self.close()
        self._leave()

    def close(self) -> None:
        """End the call. A waiting reader raises Cancelled."""
        self._closed = True
        self._call.cancel()
        self._guard.stop()

    def close_if_silent(self, timeout: float) -> float:
        """End the call if its reader has waited for too long. Return the number of seconds
        after which to check again.
        """
        remaining_seconds = (self._silent_at or monotonic() + timeout) - monotonic()
        if remaining_seconds <= 0:
            self._silent = True
            self.close()
        return remaining_seconds

    def _read(self, timeout: float | None) -> Response | None:
        if timeout is not None:
            self._enforce_timeout(timeout)
            self._silent_at = monotonic() + timeout
        try:
            return next(cast(Iterator[Response], self._call), None)
        except grpc.RpcError as error:
            if timeout is not None and self._silent:
                self._leave()
                raise silent(timeout) from error
            raise failure(error) from error
        finally:
            self._silent_at = None

    def _retry_with_new_token(self) -> bool:
        renewed, self._renewed = self._renewed, None
        call = renewed() if renewed else None
        if call is None:
            return False
        self._call = call
        if self._closed:  # close() ran meanwhile and has not cancelled this call
            call.cancel()
        return True

    def _enforce_timeout(self, timeout: float) -> None:
        """Start a thread that ends the stream when it is silent, because reads of gRPC have no
        timeout.

        There is one thread for each timeout, and it sleeps for at most that time. The first
        response has a longer timeout than the others, so a stream starts two threads.
        """
        if self._guard.timeout == timeout:
            return
        self._guard.stop()
        self._guard = guard = _Guard(timeout)
        if self._closed:  # close() ran meanwhile and has not stopped this guard
            guard.stopped.set()
        guard.start(weakref.ref(self, lambda _: guard.stopped.set()))


class _Guard:
    """The timeout of a stream's reads, and the thread that enforces it."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, stream: weakref.ref[Stream[Any, Any]]) -> None:
        """Start the thread, which ends with the stream, or when it is garbage collected."""
        thread = threading.Thread(
            target=self._run, args=(stream,), name="kubeconnect stream", daemon=True
        )
        thread.start()
        self._thread = thread

    def stop(self) -> None:
        """Stop the thread, and wait for its end, unless it is the caller."""
        self.stopped.set()
        if (thread := self._thread) is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self, reference: weakref.ref[Stream[Any, Any]]) -> None:
        """End the stream when it is silent.

        A read that begins while this thread sleeps cannot time out before the thread wakes.
        """
        remaining_seconds = self.timeout
        while not self.stopped.wait(remaining_seconds):
            if (stream := reference()) is None:
                return
            remaining_seconds = stream.close_if_silent(self.timeout)
            del stream


class Latch(threading.Event):
    """A one-shot event of threads."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the latch is set, for at most ``timeout`` seconds if it is not None.

        A signal that arrives just before a thread waits does not interrupt it. So the wait is
        in parts of a second, after which Ctrl-C is noticed.
        """
        end = math.inf if timeout is None else monotonic() + timeout
        while not self.is_set() and (rest := end - monotonic()) > 0:
            super().wait(min(rest, 1.0))
        return self.is_set()
