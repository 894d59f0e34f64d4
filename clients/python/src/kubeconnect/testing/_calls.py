"""What every call passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import grpc

from kubeconnect._errors import DeadlineExceeded, KubeconnectError
from kubeconnect.testing._cluster import Cluster
from kubeconnect.testing._collector import Collector
from kubeconnect.testing._failures import abort, bad_request, failure
from kubeconnect.testing._faults import Faults
from kubeconnect.testing._resources import ResourceType
from kubeconnect.testing._writes import Writes

_WAIT_SECONDS = 5.0
_NOT_OBJECTS = ("log", "exec", "attach", "portforward", "proxy")


class Calls:
    """What the servicers share."""

    def __init__(self, cluster: Cluster, username: Callable[[], str]) -> None:
        """Serve a cluster."""
        self.cluster = cluster
        self.faults = Faults(username)
        self.writes = Writes(cluster)
        self.collector = Collector(cluster, self.writes)
        self.heartbeat = 5.0

    @contextmanager
    def begin(self, context: grpc.ServicerContext) -> Iterator[None]:
        """Hold the lock of the cluster during a call, and end the call with its error."""
        try:
            with self.cluster.changed:
                yield
        except KubeconnectError as error:
            abort(context, error)

    def resource(self, call: str, name: str, namespace: str) -> ResourceType:
        """Return the resource of a call. Raises the error with which the call fails."""
        self.faults.check_up()
        resource = self.cluster.registry.find(name)
        self.faults.check(call, resource, namespace)
        return resource

    def check_subresource(self, name: str) -> None:
        """Raise InvalidArgument for a subresource that is no object."""
        if name in _NOT_OBJECTS:
            raise bad_request(f'subresource "{name}" is no object')

    def await_version(self, version: str, context: grpc.ServicerContext) -> None:
        """Wait until the cache has reached a version. Raises DeadlineExceeded."""
        if not version:
            return
        if not version.isdecimal() or int(version) == 0:
            raise bad_request(
                f'invalid min_resource_version "{version}": give the resource version of a response'
            )
        limit = min(_WAIT_SECONDS, (context.time_remaining() or _WAIT_SECONDS) - 0.2)
        end = time.monotonic() + limit
        while self.cluster.visible < int(version):
            rest = end - time.monotonic()
            if rest <= 0 or not context.is_active():
                message = f"the cache has not reached resource version {version} yet"
                raise failure(DeadlineExceeded, message, retry_after_seconds=1)
            self.cluster.changed.wait(min(rest, 0.2))
