"""The service over gRPC, for threads."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

import grpc

from kubeconnect.address import Address
from kubeconnect.errors import Unauthenticated
from kubeconnect.transport.failures import client_closed, failure, silent
from kubeconnect.transport.options import channel_credentials, channel_options, remaining
from kubeconnect.transport.tokens import Metadata, bearer, token_function
from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceStub
from kubeconnect.v1.pod_service_pb2_grpc import PodServiceStub
from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceStub

Request = TypeVar("Request")
Response = TypeVar("Response")
Answer = TypeVar("Answer", covariant=True)

Token: TypeAlias = str | Callable[[], str]
"""A fixed token, or a function that returns the token of each call."""


class Transport:
    """A connection. Safe for concurrent use by threads; not to be used after a fork."""

    discovery: DiscoveryServiceStub
    pods: PodServiceStub
    resources: ResourceServiceStub

    def __init__(
        self,
        address: Address,
        token: Token | None,
        token_file: str | os.PathLike[str] | None,
        ca_file: str | os.PathLike[str] | None,
    ) -> None:
        """Check the arguments; the connection is made with the first call."""
        self._token = token_function(address, token, token_file)
        self.renews_token = callable(token) or token_file is not None
        credentials = channel_credentials(address, ca_file)
        options = channel_options(address)
        if credentials:
            self._channel = grpc.secure_channel(address.target, credentials, options)
        else:
            self._channel = grpc.insecure_channel(address.target, options)
        self.discovery = DiscoveryServiceStub(self._channel)
        self.pods = PodServiceStub(self._channel)
        self.resources = ResourceServiceStub(self._channel)
        self._closed = False

    def unary(
        self,
        rpc: grpc.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Response:
        """Call and wait for the answer, at most ``timeout`` seconds.

        A call that is refused as unauthenticated is made again, once, if there is another
        token by then.
        """
        begin = monotonic()
        metadata = self._metadata()
        try:
            return rpc(request, timeout=timeout, metadata=metadata)
        except grpc.RpcError as error:
            refused = failure(error)
            if not (self.renews_token and isinstance(refused, Unauthenticated)):
                raise refused from error
        fresh = self._metadata()
        if fresh == metadata:
            raise refused
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
    ) -> Stream[Request, Response]:
        """Begin a call that answers again and again, without a limit of time.

        It may wait for a connection as long as that takes, instead of failing.
        """
        if self._closed:
            raise client_closed()

        def begin(metadata: Metadata) -> Call[Response]:
            return rpc(request, metadata=metadata, wait_for_ready=wait_for_ready)

        metadata = self._metadata()

        def renewed() -> Call[Response] | None:
            fresh = self._metadata()
            return None if fresh == metadata else begin(fresh)

        return Stream(begin(metadata), renewed if self.renews_token else None)

    def _metadata(self) -> Metadata:
        """Return what the next call carries."""
        return () if self._token is None else bearer(self._token())

    def close(self) -> None:
        """End the connection and all calls on it."""
        self._closed = True
        self._channel.close()


class Call(Protocol[Answer]):
    """What gRPC answers to the beginning of a stream."""

    def __next__(self) -> Answer:
        """Wait for the next answer."""

    def cancel(self) -> bool:
        """End the call."""


class Stream(Generic[Request, Response]):
    """The answers to one call. One thread may read at a time, any may close."""

    def __init__(
        self,
        call: Call[Response],
        renewed: Callable[[], Call[Response] | None] | None = None,
    ) -> None:
        """Take over a call that has begun.

        If it is refused as unauthenticated, ``renewed`` begins it again with another
        token, or returns None where there is none.
        """
        self._call = call
        self._renewed = renewed  # up to the first answer
        self._closed = False
        self._guard = _Guard(0.0)
        self._silent_at: float | None = None  # while a reader waits
        self._silent = False

    def read(self, timeout: float | None = None) -> Response | None:
        """Wait for the next answer; None after the last one.

        After ``timeout`` seconds the call is ended, and Unavailable raised.
        """
        try:
            response = self._read(timeout)
        except Unauthenticated:
            if not self._begin_again():
                raise
            response = self._read(timeout)
        self._renewed = None
        return response

    def close(self) -> None:
        """End the call: a reader that waits gets Cancelled."""
        self._closed = True
        self._guard.over.set()
        self._call.cancel()

    def cut_if_silent(self, timeout: float) -> float:
        """End a call whose reader has waited too long, or return when to ask again."""
        rest = (self._silent_at or monotonic() + timeout) - monotonic()
        if rest <= 0:
            self._silent = True
            self.close()
        return rest

    def _read(self, timeout: float | None) -> Response | None:
        if timeout is not None:
            self._watch_over(timeout)
            self._silent_at = monotonic() + timeout
        try:
            return next(cast(Iterator[Response], self._call), None)
        except grpc.RpcError as error:
            if timeout is not None and self._silent:
                raise silent(timeout) from error
            raise failure(error) from error
        finally:
            self._silent_at = None

    def _begin_again(self) -> bool:
        renewed, self._renewed = self._renewed, None
        call = renewed() if renewed else None
        if call is None:
            return False
        self._call = call
        if self._closed:  # meanwhile, and so without this call
            call.cancel()
        return True

    def _watch_over(self, timeout: float) -> None:
        """Have another thread look after the stream: gRPC cannot wait for a while only.

        There is one such thread for each timeout, and it sleeps that long at most: the
        first answer may take longer than the others, so there are two in all.
        """
        if self._guard.timeout == timeout:
            return
        self._guard.over.set()
        self._guard = guard = _Guard(timeout)
        if self._closed:  # meanwhile, and so without this guard
            guard.over.set()
        stream = weakref.ref(self, lambda _: guard.over.set())
        threading.Thread(target=_look_after, args=(stream, guard), daemon=True).start()


class _Guard:
    """Ends a stream when nothing has come for so many seconds."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.over = threading.Event()


def _look_after(reference: weakref.ref[Stream[Any, Any]], guard: _Guard) -> None:
    """Cut the stream when it is silent; end with it, and do not keep it alive.

    A wait that begins while this thread sleeps cannot be over before it wakes.
    """
    rest = guard.timeout
    while not guard.over.wait(rest):
        if (stream := reference()) is None:
            return
        rest = stream.cut_if_silent(guard.timeout)
        del stream


class Latch(threading.Event):
    """What happens once, and can be waited for."""
