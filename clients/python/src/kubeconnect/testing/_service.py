"""The fake service."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeAlias

import grpc

from kubeconnect import Client
from kubeconnect._errors import KubeconnectError
from kubeconnect._kinds import KindMessage
from kubeconnect._messages import message_to_dict
from kubeconnect._objects import Object, Resource
from kubeconnect.testing._calls import Calls
from kubeconnect.testing._cluster import Cluster, Content, Key
from kubeconnect.testing._contents import copy_of, encode, kind_message
from kubeconnect.testing._failures import failure, not_found
from kubeconnect.testing._logs import Log
from kubeconnect.testing._other_services import AccessService, DiscoveryService, PodService
from kubeconnect.testing._resource_service import ResourceService
from kubeconnect.testing._resources import ResourceType
from kubeconnect.v1 import object_pb2
from kubeconnect.v1.access_service_pb2_grpc import add_AccessServiceServicer_to_server
from kubeconnect.v1.discovery_service_pb2_grpc import add_DiscoveryServiceServicer_to_server
from kubeconnect.v1.pod_service_pb2_grpc import add_PodServiceServicer_to_server
from kubeconnect.v1.resource_service_pb2_grpc import add_ResourceServiceServicer_to_server

AnyObject: TypeAlias = Mapping[str, Any] | KindMessage
"""An object with its ``apiVersion`` and ``kind``, or a message of ``kubeconnect.k8s``."""

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_THREADS = 256
"""The maximum number of calls and streams at a time. A thread is started when it is needed."""


class FakeService:
    """A kubeconnect service in this process, for tests of programs that use the client.

    It serves the API over gRPC on a free port of loopback, from a cluster in memory. Built-in
    kinds, and the kinds of ``add_resource`` and of CustomResourceDefinitions, are served without
    being declared. The fake does what the API server does with any object; it does not do what the
    API server does with the fields of a kind: there are no defaults and no validation beyond
    metadata, and no controllers but garbage collection. It refuses what it cannot do with
    Unimplemented and a message that begins with "the fake service".

    Use it as a context manager. All methods may be called by any thread.
    """

    def __init__(
        self,
        objects: Iterable[AnyObject] = (),
        *,
        username: str = "fake",
        heartbeat: float = 5.0,
    ) -> None:
        """Begin with these ``objects``, and with the namespaces that every cluster has.

        ``username`` is the name of every caller. ``heartbeat`` is the number of seconds after
        which a stream without changes sends a BOOKMARK.
        """
        self.username = username
        """The name of every caller. A test may change it."""
        self._cluster = Cluster()
        self._calls = Calls(self._cluster, self._name)
        self._calls.heartbeat = heartbeat
        self._filters: dict[str, Callable[[Any], object]] = {}
        self._pods = PodService(self._calls, self._filters)
        self._server: grpc.Server | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._clients: list[Client] = []
        self._address = ""
        with self._cluster.changed:
            for name in _NAMESPACES:
                self._put_namespace(name)
        for each in objects:
            self.put(each)

    def _name(self) -> str:
        return self.username

    def __enter__(self) -> FakeService:
        """Start the service."""
        self._threads = ThreadPoolExecutor(_THREADS, "fake service")
        server = grpc.server(self._threads)
        add_ResourceServiceServicer_to_server(ResourceService(self._calls, self._filters), server)
        add_AccessServiceServicer_to_server(AccessService(self._calls, self._name), server)
        add_DiscoveryServiceServicer_to_server(DiscoveryService(self._calls), server)
        add_PodServiceServicer_to_server(self._pods, server)
        port = server.add_insecure_port("127.0.0.1:0")
        self._address = f"http://127.0.0.1:{port}"
        server.start()
        self._server = server
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the clients of ``client``, cancel all calls, and stop the service."""
        for client in self._clients:
            client.close()
        if self._server is not None and self._threads is not None:
            self._server.stop(None).wait()
            self._threads.shutdown()

    @property
    def address(self) -> str:
        """The address for ``Client`` and ``AsyncClient``."""
        if self._server is None:
            raise RuntimeError("the fake service is not started: use it as a context manager")
        return self._address

    def client(self, **options: Any) -> Client:
        """Return a client of the service, which is closed at the end of the service.

        ``options`` are those of ``Client``.
        """
        client = Client(self.address, **options)
        self._clients.append(client)
        return client

    def put(self, obj: AnyObject) -> Object:
        """Create or replace an object, and return it. Its namespace is created if it is missing.

        ``obj`` has its ``apiVersion`` and ``kind``, or is a message of ``kubeconnect.k8s``. Unlike
        a write of a client, this needs no permission, is not checked, and sets all fields, also the
        status and the ``deletionTimestamp``.
        """
        content = _content(obj)
        with self._cluster.changed:
            resource = self._cluster.registry.of_kind(
                content.get("apiVersion", ""), content.get("kind", "")
            )
            metadata = dict(content.get("metadata") or {})
            if resource.namespaced:
                metadata.setdefault("namespace", "default")
                self._put_namespace(metadata["namespace"])
            content = {**content, "metadata": metadata}
            return _object(self._calls.writes.put(resource, content), resource)

    def get(self, resource: str, name: str, *, namespace: str | None = None) -> Object:
        """Return an object as it is now. Raises NotFound."""
        with self._cluster.changed:
            found = self._cluster.registry.find(resource)
            content = self._cluster.find(found, self._key(found, name, namespace))
            if content is None:
                raise not_found(found, name)
            return _object(content, found)

    def list(self, resource: str, *, namespace: str | None = None) -> list[Object]:
        """Return the objects of a resource as they are now, in all namespaces by default."""
        with self._cluster.changed:
            found = self._cluster.registry.find(resource)
            objects = self._cluster.objects(found)
            return [
                _object(content, found)
                for key, content in objects.items()
                if namespace is None or key[0] == namespace
            ]

    def delete(self, resource: str, name: str, *, namespace: str | None = None) -> None:
        """Remove an object at once, whatever its finalizers are. Raises NotFound."""
        with self._cluster.changed:
            found = self._cluster.registry.find(resource)
            self._calls.writes.remove(found, self._key(found, name, namespace))

    def add_resource(
        self,
        api_version: str,
        kind: str,
        plural: str,
        *,
        namespaced: bool = True,
        short_names: Iterable[str] = (),
        categories: Iterable[str] = (),
        subresources: Iterable[str] = ("status",),
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        """Serve a resource, such as a custom one: ``add_resource("stable.example.com/v1",
        "CronTab", "crontabs")``. A client that creates a CustomResourceDefinition has the same
        effect.

        ``api_version`` and ``kind`` are those of the objects, and ``plural`` is the name of the
        resource. Clients also find it by its ``short_names``, and list it by its ``categories``.
        If it is not ``namespaced``, its objects belong to the cluster. ``subresources`` are any of
        "status" and "scale". ``schema`` is the OpenAPI schema that the service returns.
        """
        group, _, version = api_version.rpartition("/")
        resource = ResourceType(
            group=group,
            version=version,
            kind=kind,
            plural=plural,
            namespaced=namespaced,
            short_names=tuple(short_names),
            categories=tuple(categories),
            subresources=tuple(sorted(subresources)),
            schema=schema,
        )
        with self._cluster.changed:
            self._cluster.registry.add(resource)

    def add_filter(self, expression: str, function: Callable[[Any], object]) -> None:
        """Evaluate a filter by a function, because the fake does not evaluate CEL.

        ``expression`` is the filter as the client sends it. The ``function`` is called with an
        object, as a dict, and returns whether it matches. A LookupError or a TypeError means that
        the filter has no value for the object.
        """
        self._filters[expression] = function

    def write_log(
        self,
        pod: str,
        text: str | bytes,
        *,
        namespace: str = "default",
        container: str = "",
        end: bool = False,
    ) -> None:
        """Append a ``text`` to the log of a pod's container, by default its first. With ``end``
        the container has terminated, and the logs that are followed end.
        """
        with self._cluster.changed:
            pods = self._cluster.registry.find("pods")
            content = self._cluster.find(pods, (namespace, pod))
            if content is None:
                raise not_found(pods, pod)
            containers = (content.get("spec") or {}).get("containers") or [{"name": ""}]
            key = (namespace, pod, container or containers[0]["name"])
            log = self._pods.logs.setdefault(key, Log())
            log.write(text.encode() if isinstance(text, str) else text)
            log.ended = end
            self._cluster.changed.notify_all()

    def fail_next(
        self,
        call: str,
        error: type[KubeconnectError] | KubeconnectError,
        message: str = "planned by the test",
        *,
        resource: str | None = None,
        times: int = 1,
        retry_after_seconds: int = 0,
    ) -> None:
        """Let the next calls fail: ``fail_next("list", TooManyRequests, retry_after_seconds=1)``.

        ``call`` is "get", "list", "watch", "count", "table", "create", "update", "patch",
        "delete", "deletecollection", "logs", "access" or "discovery". "watch" is the beginning of a
        stream, also of live counts and live pages. ``times`` is the number of calls that fail, by
        default of all resources. The error is a class, or an error that is sent as it is.
        """
        if isinstance(error, type):
            error = failure(error, message, retry_after_seconds=retry_after_seconds)
        with self._cluster.changed:
            self._calls.faults.plan(call, self._find(resource), error, times)

    def deny(self, verb: str, resource: str | None = None, *, namespace: str | None = None) -> None:
        """Forbid a verb of RBAC, or "*", by default for all resources and namespaces.

        Calls raise Forbidden, and streams end with it. With a namespace, this concerns only calls
        for that namespace.
        """
        with self._cluster.changed:
            self._calls.faults.deny(verb, self._find(resource), namespace)
            self._cluster.changed.notify_all()

    def allow(
        self, verb: str, resource: str | None = None, *, namespace: str | None = None
    ) -> None:
        """Withdraw a ``deny`` with the same arguments."""
        with self._cluster.changed:
            self._calls.faults.allow(verb, self._find(resource), namespace)

    def disconnect(self) -> None:
        """Cut all streams. Clients resume them with their tokens."""
        with self._cluster.changed:
            self._calls.faults.cuts += 1
            self._cluster.changed.notify_all()

    def reset(self) -> None:
        """Lose the history: streams begin with RESET again, tokens of before do not resume, and
        page tokens of before are expired.
        """
        with self._cluster.changed:
            self._cluster.begin_epoch()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Cut all streams, and reject all calls with Unavailable, within the ``with`` block."""
        with self._cluster.changed:
            self._calls.faults.down = True
            self._cluster.changed.notify_all()
        try:
            yield
        finally:
            with self._cluster.changed:
                self._calls.faults.down = False

    @contextmanager
    def stale(self) -> Iterator[None]:
        """Stop the cache of the service within the ``with`` block: reads and streams are stale and
        do not see writes, as if the API server were unreachable for the cache. Writes, and reads
        with ``consistency="latest"``, work.
        """
        with self._cluster.changed:
            self._cluster.pause()
        try:
            yield
        finally:
            with self._cluster.changed:
                self._cluster.resume()

    def _find(self, resource: str | None) -> ResourceType | None:
        return None if resource is None else self._cluster.registry.find(resource)

    def _key(self, resource: ResourceType, name: str, namespace: str | None) -> Key:
        return (namespace or "default") if resource.namespaced else "", name

    def _put_namespace(self, name: str) -> None:
        namespaces = self._cluster.registry.find("namespaces")
        if self._cluster.find(namespaces, ("", name)) is None:
            self._calls.writes.put(namespaces, {"metadata": {"name": name}})


def _content(obj: AnyObject) -> Content:
    if kind_message(obj):
        return message_to_dict(obj)  # type: ignore[arg-type]
    if not isinstance(obj, Mapping):
        raise TypeError(f"{type(obj).__name__} is neither a mapping nor a kind of kubeconnect.k8s")
    return copy_of(obj)  # type: ignore[no-any-return]


def _object(content: Content, resource: ResourceType) -> Object:
    message = encode(content, content, object_pb2.ENCODING_JSON, resource)
    return Object(message, Resource.from_message(resource.to_message()))
