"""The service over gRPC, for threads."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar, cast

import grpc

from kubeconnect.address import Address
from kubeconnect.transport.failures import client_closed, failure, silent
from kubeconnect.transport.options import call_metadata, channel_credentials, channel_options
from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceStub
from kubeconnect.v1.pod_service_pb2_grpc import PodServiceStub
from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceStub

Request = TypeVar("Request")
Response = TypeVar("Response")
Answer = TypeVar("Answer", covariant=True)


class Transport:
    """A connection. Safe for concurrent use by threads; not to be used after a fork."""

    discovery: DiscoveryServiceStub
    pods: PodServiceStub
    resources: ResourceServiceStub

    def __init__(
        self, address: Address, token: str | None, ca_file: str | os.PathLike[str] | None
    ) -> None:
        """Check the arguments; the connection is made with the first call."""
        self._metadata = call_metadata(address, token)
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
        """Call and wait for the answer, at most ``timeout`` seconds."""
        try:
            return rpc(request, timeout=timeout, metadata=self._metadata)
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
        return Stream(rpc(request, metadata=self._metadata, wait_for_ready=wait_for_ready))

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

    def __init__(self, call: Call[Response]) -> None:
        """Take over a call that has begun."""
        self._call = call
        self._over = threading.Event()
        self._guarded = False
        self._silent_at: float | None = None  # while a reader waits
        self._silent = False

    def read(self, timeout: float | None = None) -> Response | None:
        """Wait for the next answer; None after the last one.

        After ``timeout`` seconds, the same for each read that has one, the call is
        ended, and Unavailable raised.
        """
        if timeout is not None:
            self._guard(timeout)
            self._silent_at = monotonic() + timeout
        try:
            return next(cast(Iterator[Response], self._call), None)
        except grpc.RpcError as error:
            if timeout is not None and self._silent:
                raise silent(timeout) from error
            raise failure(error) from error
        finally:
            self._silent_at = None

    def close(self) -> None:
        """End the call: a reader that waits gets Cancelled."""
        self._over.set()
        self._call.cancel()

    def cut_if_silent(self, timeout: float) -> float:
        """End a call whose reader has waited too long, or return when to ask again."""
        rest = (self._silent_at or monotonic() + timeout) - monotonic()
        if rest <= 0:
            self._silent = True
            self.close()
        return rest

    def _guard(self, timeout: float) -> None:
        """Begin to look after the stream, once: gRPC cannot wait for a while only."""
        if not self._guarded:
            self._guarded = True
            over = self._over
            stream = weakref.ref(self, lambda _: over.set())
            threading.Thread(target=_guard, args=(stream, over, timeout), daemon=True).start()


def _guard(reference: weakref.ref[Stream[Any, Any]], over: threading.Event, timeout: float) -> None:
    """Cut the stream when it is silent; end with it, and do not keep it alive.

    A wait that begins while this one sleeps cannot be over before it wakes.
    """
    rest = timeout
    while not over.wait(rest):
        if (stream := reference()) is None:
            return
        rest = stream.cut_if_silent(timeout)
        del stream


class Latch(threading.Event):
    """What happens once, and can be waited for."""
