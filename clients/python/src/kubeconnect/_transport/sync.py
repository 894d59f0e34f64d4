"""The gRPC transport for threads."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

import grpc

from kubeconnect._address import Address
from kubeconnect._errors import Cancelled, KubeconnectError, Unauthenticated
from kubeconnect._fencing import check_fence
from kubeconnect._transport.failures import client_closed, failure, silent
from kubeconnect._transport.identity import Identity, KeyPair, Metadata, Presented
from kubeconnect._transport.methods import Bound, Methods
from kubeconnect._transport.options import channel_credentials, channel_options, remaining
from kubeconnect._transport.retries import retry_delay
from kubeconnect._transport.tokens import bearer
from kubeconnect._transport.tracing import trace_context

Request = TypeVar("Request")
Response = TypeVar("Response")
Received = TypeVar("Received", covariant=True)

Token: TypeAlias = str | Callable[[], str]
"""A fixed token, or a function that returns the token of each call."""

SentToken: TypeAlias = str | None
"""The result of a token function: None for no token."""


class Connection:
    """A channel and its calls. The transport's lock guards ``streams`` and ``calls``."""

    def __init__(self, channel: grpc.Channel, pair: KeyPair | None) -> None:
        """Begin without calls. ``pair`` is the client certificate of the channel."""
        self.channel = channel
        self.pair = pair
        self.bound = Bound(channel)
        self.streams: weakref.WeakSet[Stream[Any, Any]] = weakref.WeakSet()
        self.calls = 0

    @property
    def idle(self) -> bool:
        """Whether the connection has no open calls."""
        return self.calls == 0 and all(stream.ended for stream in self.streams)


class Transport(Methods):
    """The current connection, and earlier connections that still have calls. Safe for
    concurrent use by threads; must not be used after a fork.
    """

    def __init__(
        self, address: Address, identity: Identity[SentToken], roots: bytes | None
    ) -> None:
        """Store the arguments. The connection is opened with the first call.

        ``roots`` are the CA certificates to trust; None for gRPC's own.
        """
        super().__init__()
        self.renews = identity.renews
        self._identity = identity
        self.address = address
        self.roots = roots
        self._options = channel_options(address)
        self._reached = False  # set by the first response of the service
        # Guards the attributes below, and ``streams`` and ``calls`` of the connections.
        self._lock = threading.Lock()
        self._connections: list[Connection] = []  # the last one is for new calls
        self._closed = threading.Event()

    def read(
        self,
        method: grpc.UnaryUnaryMultiCallable[Request, Response],
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
                return self.unary(method, request, remaining(timeout, begin))
            except KubeconnectError as error:
                rest = remaining(timeout, begin)
                delay = retry_delay(error, rest, attempt, reached=self._reached)
                if delay is None:
                    raise
            attempt += 1
            self._closed.wait(delay)

    def write(
        self,
        method: grpc.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call that changes objects and return its response. A dry run, which changes
        nothing, is retried as reads are. Raises LeadershipLost if the caller may write as a
        leader only, and is not the leader any more.
        """
        check_fence()
        if getattr(request, "dry_run", False):
            return self.read(method, request, timeout)
        return self.unary(method, request, timeout)

    def unary(
        self,
        method: grpc.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Make a call and return its response, waiting for at most ``timeout`` seconds.

        A call that is rejected as unauthenticated is retried once if the credentials are
        different ones by then.
        """
        begin = monotonic()
        presented = self.present(timeout)
        try:
            return self._call(method, request, self.rest(timeout, begin), presented)
        except Unauthenticated:
            fresh = self.renewed(presented, self.rest(timeout, begin))
            if fresh is None:
                raise
        return self._call(method, request, self.rest(timeout, begin), fresh)

    def rest(self, timeout: float | None, begin: float) -> float | None:
        """Return the rest of the timeout of a call that began at ``begin``. The timeout is for each
        step of the call if the user may be asked for something.
        """
        return timeout if self._identity.asks() else remaining(timeout, begin)

    def _call(
        self,
        method: grpc.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
        presented: Presented,
    ) -> Response:
        with self._using(presented.pair) as connection:
            try:
                call = connection.bound(method)
                metadata = presented.metadata + trace_context()
                response = call(request, timeout=timeout, metadata=metadata)
            except grpc.RpcError as error:
                raise failure(error, self.address) from None
        self._reached = True
        return response

    def stream(
        self,
        method: grpc.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,
    ) -> Stream[Request, Response]:
        """Begin a server-streaming call, which ends after ``timeout`` seconds; None: no limit."""
        return self.opener(method)(request, False, timeout)

    def opener(
        self, method: grpc.UnaryStreamMultiCallable[Request, Response]
    ) -> Callable[[Request, bool, float | None], Stream[Request, Response]]:
        """Return a function that begins calls of a server-streaming method, as ``stream`` does. All
        of them are in the trace that is current now.

        Its arguments are the request, whether the call waits for a connection instead of failing,
        and the timeout.
        """
        trace = trace_context()
        return lambda request, wait, timeout: self._stream(method, request, wait, timeout, trace)

    def _stream(
        self,
        method: grpc.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        wait_for_ready: bool,
        timeout: float | None,
        trace: Metadata,
    ) -> Stream[Request, Response]:
        first = monotonic()

        def begin(presented: Presented, stream: Stream[Request, Response]) -> Begun[Response]:
            with self._using(presented.pair) as connection:
                call = connection.bound(method)(
                    request,
                    timeout=self.rest(timeout, first),
                    metadata=presented.metadata + trace,
                    wait_for_ready=wait_for_ready,
                )
                with self._lock:
                    connection.streams.add(stream)
                return Begun(call, connection)

        if self._closed.is_set():
            raise client_closed()
        presented = self.present(timeout)
        return Stream(self, begin, presented, lambda: self.rest(timeout, first))

    @property
    def closed(self) -> bool:
        """Whether the transport is closed."""
        return self._closed.is_set()

    def present(self, timeout: float | None) -> Presented:
        """Return what the next call, which has ``timeout`` seconds, presents to the service."""
        token = self._identity.token(timeout) if self._identity.token else None
        return Presented(() if token is None else bearer(token), self._identity.pair())

    def renewed(self, rejected: Presented, timeout: float | None) -> Presented | None:
        """Return what to present after a rejection; None if there is nothing else."""
        if not self.renews:
            return None
        self._identity.discard(rejected)
        fresh = self.present(timeout)
        return None if fresh == rejected else fresh

    @contextmanager
    def _using(self, pair: KeyPair | None) -> Iterator[Connection]:
        """Return the connection for new calls, which has this client certificate, and keep it
        open. If the certificate was renewed, it is another one: a connection keeps its
        certificate.
        """
        unused: list[Connection] = []
        with self._lock:
            if self._closed.is_set():
                raise client_closed()
            if not self._connections or self._connections[-1].pair != pair:
                unused = self._replace_locked(pair)
            connection = self._connections[-1]
            connection.calls += 1
        try:
            for each in unused:
                each.channel.close()
            yield connection
        except (Cancelled, ValueError):  # gRPC raises ValueError if its channel is closed
            if self._closed.is_set():
                raise client_closed() from None
            raise
        finally:
            with self._lock:
                connection.calls -= 1

    def leave(self, connection: Connection) -> None:
        """Open another connection, which may lead to another replica, for later calls.

        Open calls continue on their connections. Streams that leave the same connection
        share the new one.
        """
        with self._lock:
            if self._closed.is_set() or connection is not self._connections[-1]:
                return
            unused = self._replace_locked(connection.pair)
        for each in unused:
            each.channel.close()

    def _replace_locked(self, pair: KeyPair | None) -> list[Connection]:
        """Use a new connection for new calls, and return those that have no calls."""
        unused = [each for each in self._connections if each.idle]
        in_use = [each for each in self._connections if each not in unused]
        self._connections = [*in_use, Connection(self._open(pair), pair)]
        return unused

    def _open(self, pair: KeyPair | None) -> grpc.Channel:
        target = self.address.target
        if not self.address.tls:
            return grpc.insecure_channel(target, self._options)
        return grpc.secure_channel(target, channel_credentials(self.roots, pair), self._options)

    def close(self) -> None:
        """Close all connections and all calls on them.

        Streams are closed first, because gRPC's close does not end the threads that enforce
        their timeouts.
        """
        self._closed.set()
        self._identity.close()
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


@dataclass(frozen=True)
class Begun(Generic[Response]):
    """A streaming call that has begun, and its connection."""

    call: Call[Response]
    connection: Connection


class Stream(Generic[Request, Response]):
    """The responses of one streaming call. Only one thread may read at a time. Any thread may
    close the stream.
    """

    def __init__(
        self,
        transport: Transport,
        begin: Callable[[Presented, Stream[Request, Response]], Begun[Response]],
        presented: Presented,
        rest: Callable[[], float | None],
    ) -> None:
        """Begin the call. ``rest`` returns the rest of its timeout.

        If it is rejected as unauthenticated, it is begun again if the credentials are different
        ones by then.
        """
        self._transport = transport
        self._begin = begin
        self._rest = rest
        self._presented: Presented | None = presented  # None after the first response
        self._closed = False
        self._guard = _Guard(0.0)
        self._silent_at: float | None = None  # set while a reader waits
        self._silent = False
        self._begun: Begun[Response] | None = None
        self._begun = begin(presented, self)
        if self._closed:  # close() ran meanwhile and has not cancelled this call
            self._call.cancel()

    def read(self, timeout: float | None = None) -> Response | None:
        """Wait for the next response and return it; None after the last one.

        After ``timeout`` seconds the call is ended, Unavailable is raised, and later calls
        use another connection.
        """
        try:
            response = self._read(timeout)
        except Unauthenticated:
            if not self._retry_with_new_credentials():
                raise
            response = self._read(timeout)
        self._presented = None
        return response

    @property
    def ended(self) -> bool:
        """Whether the call has ended."""
        begun = self._begun  # None while the constructor runs
        return self._closed or (begun is not None and not begun.call.is_active())

    @property
    def _call(self) -> Call[Response]:
        assert self._begun is not None
        return self._begun.call

    def _use_another_connection(self) -> None:
        assert self._begun is not None
        self._transport.leave(self._begun.connection)

    def leave(self) -> None:
        """End the call, and use another connection for later calls."""
        self.close()
        self._use_another_connection()

    def close(self) -> None:
        """End the call. A waiting reader raises Cancelled."""
        self._closed = True
        if self._begun is not None:
            self._begun.call.cancel()
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
                self._use_another_connection()
                raise silent(timeout) from None
            raise failure(error, self._transport.address) from None
        finally:
            self._silent_at = None

    def _retry_with_new_credentials(self) -> bool:
        rejected, self._presented = self._presented, None
        fresh = self._transport.renewed(rejected, self._rest()) if rejected else None
        if fresh is None:
            return False
        self._begun = self._begin(fresh, self)
        if self._closed:  # close() ran meanwhile and has not cancelled this call
            self._call.cancel()
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
