"""The methods of the service, without a connection.

A call chooses its connection when it begins: until then the client may have left a replica, or may
have received another client certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import grpc

from kubeconnect.v1.access_service_pb2_grpc import AccessServiceStub
from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceStub
from kubeconnect.v1.pod_service_pb2_grpc import PodServiceStub
from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceStub

if TYPE_CHECKING:
    from kubeconnect.v1.access_service_pb2_grpc import AccessServiceAsyncStub
    from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceAsyncStub
    from kubeconnect.v1.pod_service_pb2_grpc import PodServiceAsyncStub
    from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceAsyncStub

R = TypeVar("R")


class _Method(NamedTuple):
    """What a channel needs to know of a method."""

    path: str
    bind: Callable[[Any], Any]
    """Returns the method of a channel."""


class _Recorder:
    """Has the methods of a channel that stubs use, and returns what they were called with."""

    def unary_unary(self, path: str, **options: Any) -> _Method:
        return _Method(path, lambda channel: channel.unary_unary(path, **options))

    def unary_stream(self, path: str, **options: Any) -> _Method:
        return _Method(path, lambda channel: channel.unary_stream(path, **options))


class Methods:
    """The methods for threads. ``Bound`` makes them callable."""

    def __init__(self) -> None:
        """Record the methods of all stubs."""
        recorder = cast(grpc.Channel, _Recorder())
        self.access = AccessServiceStub(recorder)
        self.discovery = DiscoveryServiceStub(recorder)
        self.pods = PodServiceStub(recorder)
        self.resources = ResourceServiceStub(recorder)


class AsyncMethods:
    """The methods for asyncio. ``Bound`` makes them callable."""

    def __init__(self) -> None:
        """Record the methods of all stubs."""
        methods = Methods()
        self.access = cast("AccessServiceAsyncStub", methods.access)
        self.discovery = cast("DiscoveryServiceAsyncStub", methods.discovery)
        self.pods = cast("PodServiceAsyncStub", methods.pods)
        self.resources = cast("ResourceServiceAsyncStub", methods.resources)


class Bound:
    """The methods of one channel."""

    def __init__(self, channel: Any) -> None:
        """Begin without methods: each is created with its first call."""
        self._channel = channel
        self._methods: dict[str, Any] = {}

    def __call__(self, method: R) -> R:
        """Return the method of this channel."""
        path, bind = cast(_Method, method)
        if path not in self._methods:
            self._methods[path] = bind(self._channel)
        return cast(R, self._methods[path])
