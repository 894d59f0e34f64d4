"""The service over gRPC, for threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar, cast

import grpc

from kubeconnect.address import Address
from kubeconnect.transport.failures import failure
from kubeconnect.transport.options import call_metadata, channel_credentials, channel_options
from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceStub

Request = TypeVar("Request")
Response = TypeVar("Response")
Answer = TypeVar("Answer", covariant=True)


class Transport:
    """A connection. Safe for concurrent use by threads; not to be used after a fork."""

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
        self.resources = ResourceServiceStub(self._channel)

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
        self, rpc: grpc.UnaryStreamMultiCallable[Request, Response], request: Request
    ) -> Stream[Request, Response]:
        """Begin a call that answers again and again, without a limit of time."""
        return Stream(rpc(request, metadata=self._metadata))

    def close(self) -> None:
        """End the connection and all calls on it."""
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

    def read(self) -> Response | None:
        """Wait for the next answer; None after the last one."""
        try:
            return next(cast(Iterator[Response], self._call), None)
        except grpc.RpcError as error:
            raise failure(error) from error

    def close(self) -> None:
        """End the call: a reader that waits gets Cancelled."""
        self._call.cancel()
