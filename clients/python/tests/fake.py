"""A fake service that runs over a real gRPC connection."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import grpc
from google.protobuf.struct_pb2 import Value
from google.rpc import status_pb2 as rpc_status

from kubeconnect.k8s.core.v1 import Pod, PodSpec
from kubeconnect.k8s.meta.v1 import ObjectMeta
from kubeconnect.v1 import access_service_pb2 as access_pb
from kubeconnect.v1 import (
    consistency_pb2,
    log_lines_pb2,
    object_pb2,
    read_pb2,
    table_pb2,
    watch_counts_pb2,
    watch_pb2,
    write_pb2,
)
from kubeconnect.v1 import discovery_service_pb2 as discovery_pb
from kubeconnect.v1 import pod_service_pb2 as pod_pb
from kubeconnect.v1.access_service_pb2_grpc import (
    AccessServiceServicer,
    add_AccessServiceServicer_to_server,
)
from kubeconnect.v1.discovery_service_pb2_grpc import (
    DiscoveryServiceServicer,
    add_DiscoveryServiceServicer_to_server,
)
from kubeconnect.v1.pod_service_pb2_grpc import PodServiceServicer, add_PodServiceServicer_to_server
from kubeconnect.v1.resource_service_pb2_grpc import (
    ResourceServiceServicer,
    add_ResourceServiceServicer_to_server,
)
from kubeconnect.v1.status_pb2 import Status

PODS = object_pb2.Resource(version="v1", kind="Pod", plural="pods", namespaced=True)
SNAPSHOT = "1000"
THREADS = "fake service"
"""The beginning of the names of the service's own threads."""


@dataclass
class Failure:
    """An error in the format of the service."""

    code: grpc.StatusCode
    message: str = "no"
    status: Status | None = None
    details: bytes | None = None
    request_id: str = ""  # sent in the trailers

    def abort(self, context: grpc.ServicerContext) -> NoReturn:
        sent: dict[str, str | bytes] = {
            "grpc-status-details-bin": self.details or self._pack(),
            "x-request-id": self.request_id,
        }
        context.set_trailing_metadata(tuple((key, value) for key, value in sent.items() if value))
        context.abort(self.code, self.message)

    def _pack(self) -> bytes:
        if self.status is None:
            return b""
        packed = rpc_status.Status(code=self.code.value[0], message=self.message)
        packed.details.add().Pack(Status(), type_url_prefix="example.com/other")
        packed.details[0].type_url = "type.googleapis.com/example.Other"
        packed.details.add().Pack(self.status)
        return bytes(packed.SerializeToString())


class End:
    """The end of a stream."""


class Silence:
    """Silence on a stream until its client disconnects."""


Message = (
    watch_pb2.WatchResponse
    | watch_pb2.WatchManyResponse
    | watch_counts_pb2.WatchCountsResponse
    | log_lines_pb2.GetLogLinesResponse
)
Step = Message | Failure | Silence | End


@dataclass
class FakeService(
    ResourceServiceServicer, DiscoveryServiceServicer, PodServiceServicer, AccessServiceServicer
):
    """Serves objects, plays the steps of watches, and records the requests."""

    address: str = ""
    objects: list[object_pb2.Object] = field(default_factory=list)
    failure: Failure | None = None
    tokens: set[str] | None = None
    expired: bool = False
    expiring: int = 0  # the number of further pages that expire
    conflict: bool = False
    left: bool = True
    encodes: bool = True  # whether messages are sent as requested
    protobuf_type: str = ""
    decisions: int | None = None  # the number of decisions to return; None for all
    refusals: deque[Failure] = field(default_factory=deque)  # errors of the next calls
    request_id: str = ""  # sent in the headers of the responses
    requests: list[Any] = field(default_factory=list)
    peers: list[str] = field(default_factory=list)  # the connection of each request
    metadata: list[dict[str, str | bytes]] = field(default_factory=list)
    certified: list[str] = field(default_factory=list)  # the name in each client certificate
    freshness: consistency_pb2.Freshness | None = None
    namespaces: list[str] = field(default_factory=list)
    aggregates: list[read_pb2.AggregateResult] = field(default_factory=list)
    page_warnings: list[str] = field(default_factory=list)  # of the pages of a list
    steps: deque[Step] = field(default_factory=deque)
    changed: threading.Condition = field(default_factory=threading.Condition)
    stuck: bool = False
    begun: threading.Event = field(default_factory=threading.Event)
    watch_ended: threading.Event = field(default_factory=threading.Event)
    log: list[bytes | Failure | Silence] = field(default_factory=list)
    log_ended: threading.Event = field(default_factory=threading.Event)

    def play(self, *steps: Step | Sequence[watch_pb2.Event]) -> None:
        with self.changed:
            for step in steps:
                if isinstance(step, Sequence):
                    step = watch_pb2.WatchResponse(resource=PODS, events=step)
                self.steps.append(step)
            self.changed.notify_all()

    def Get(
        self, request: read_pb2.GetRequest, context: grpc.ServicerContext
    ) -> read_pb2.GetResponse:
        self._begin(request, context)
        key = (request.namespace, request.name)
        found = [each for each in self.objects if (each.namespace, each.name) == key]
        if not found:
            message = f'pods "{request.name}" not found'
            status = Status(reason="NotFound", message=message, code=404)
            Failure(grpc.StatusCode.NOT_FOUND, message, status).abort(context)
        return read_pb2.GetResponse(
            resource=self._pods(),
            object=found[0] if not self.encodes else encoded(found[0], request.encoding),
            freshness=self.freshness,
            source=source_of(request),
        )

    def _pods(self) -> object_pb2.Resource:
        resource = object_pb2.Resource(protobuf_type=self.protobuf_type)
        resource.MergeFrom(PODS)
        return resource

    def List(
        self, request: read_pb2.ListRequest, context: grpc.ServicerContext
    ) -> read_pb2.ListResponse:
        self._begin(request, context)
        if request.require_all_namespaces and self.namespaces:
            message = "not allowed to list pods in all namespaces"
            Failure(grpc.StatusCode.PERMISSION_DENIED, message).abort(context)
        if request.page_token and (self.expired or self.expiring > 0):
            self.expiring -= 1
            message, status = "list again from the first page", Status(reason="Expired")
            Failure(grpc.StatusCode.OUT_OF_RANGE, message, status).abort(context)
        start = int(request.page_token or 0)
        end = start + (request.page_size or len(self.objects))
        remaining = max(len(self.objects) - end, 0)
        return read_pb2.ListResponse(
            resource=PODS,
            objects=[encoded(each, request.encoding) for each in self.objects[start:end]],
            next_page_token=str(end) if remaining else "",
            resource_version=SNAPSHOT,
            remaining_item_count=remaining,
            freshness=self.freshness,
            source=source_of(request),
            warnings=self._warnings_of(request),
            namespaces=self.namespaces,
        )

    def _warnings_of(self, request: read_pb2.ListRequest) -> list[str]:
        if self.page_warnings:
            return [self.page_warnings.pop(0)]
        return ["2 left out"] if request.filter else []

    def Count(
        self, request: read_pb2.CountRequest, context: grpc.ServicerContext
    ) -> read_pb2.CountResponse:
        self._begin(request, context)
        names = Counter(each.name[:1] for each in self.objects)
        groups = [
            read_pb2.ObjectGroup(
                values=[Value(string_value=name)], count=count, aggregates=self.aggregates
            )
            for name, count in names.most_common(request.max_groups or None)
        ]
        return read_pb2.CountResponse(
            resource=PODS,
            total_count=len(self.objects),
            groups=groups if request.group_by else [],
            aggregates=self.aggregates,
            remaining_group_count=len(names) - len(groups),
            resource_version=SNAPSHOT,
            freshness=self.freshness,
            source=source_of(request),
            warnings=["2 left out"] if request.filter else [],
            namespaces=self.namespaces,
        )

    def GetTable(
        self, request: table_pb2.GetTableRequest, context: grpc.ServicerContext
    ) -> table_pb2.GetTableResponse:
        self._begin(request, context)
        start = int(request.page_token or 0)
        end = start + (request.page_size or len(self.objects))
        remaining = max(len(self.objects) - end, 0)
        return table_pb2.GetTableResponse(
            resource=PODS,
            columns=[
                table_pb2.TableColumn(
                    name="Name", type="string", format="name", description="its name"
                ),
                table_pb2.TableColumn(name="Restarts", type="integer", priority=1),
            ],
            rows=[row(each) for each in self.objects[start:end]],
            next_page_token=str(end) if remaining else "",
            remaining_item_count=remaining,
            resource_version=SNAPSHOT,
            warnings=["old"],
        )

    def ListResourceTypes(
        self, request: discovery_pb.ListResourceTypesRequest, context: grpc.ServicerContext
    ) -> discovery_pb.ListResourceTypesResponse:
        self._begin(request, context)
        cache = discovery_pb.CacheState(
            running=True, synced=True, object_count=3, size_bytes=4096, resource_version=SNAPSHOT
        )
        pods = discovery_pb.ResourceType(
            resource=PODS,
            versions=["v1"],
            singular="pod",
            short_names=["po"],
            categories=["all"],
            verbs=["get", "list", "watch"],
            subresources=["log", "status"],
            cache=cache,
        )
        failed = discovery_pb.FailedGroupVersion(
            group="metrics.k8s.io", version="v1", message="down"
        )
        nodes = discovery_pb.ResourceType(singular="node")
        namespaces = discovery_pb.ResourceType(
            resource=object_pb2.Resource(version="v1", kind="Namespace", plural="namespaces")
        )
        matching = [
            each
            for each in (pods, nodes, namespaces)
            if not request.category or request.category in each.categories
        ]
        return discovery_pb.ListResourceTypesResponse(
            resource_types=matching, failed_group_versions=[failed]
        )

    def GetSchema(
        self, request: discovery_pb.GetSchemaRequest, context: grpc.ServicerContext
    ) -> discovery_pb.GetSchemaResponse:
        self._begin(request, context)
        response = discovery_pb.GetSchemaResponse(resource=PODS)
        response.schema.update({"type": "object", "properties": {"spec": {"maximum": 7}}})
        return response

    def WatchMany(
        self, request: watch_pb2.WatchManyRequest, context: grpc.ServicerContext
    ) -> Iterator[watch_pb2.WatchManyResponse]:
        yield from self._play(request, context)  # type: ignore[misc]

    def Watch(
        self, request: watch_pb2.WatchRequest, context: grpc.ServicerContext
    ) -> Iterator[watch_pb2.WatchResponse]:
        yield from self._play(request, context)  # type: ignore[misc]

    def WatchCounts(
        self, request: watch_counts_pb2.WatchCountsRequest, context: grpc.ServicerContext
    ) -> Iterator[watch_counts_pb2.WatchCountsResponse]:
        yield from self._play(request, context)  # type: ignore[misc]

    def _play(self, request: object, context: grpc.ServicerContext) -> Iterator[Message]:
        self._begin(request, context)
        disconnected = threading.Event()

        def disconnect() -> None:
            with self.changed:
                disconnected.set()
                self.changed.notify_all()
            self.watch_ended.set()

        if not context.add_callback(disconnect):
            disconnect()
        silent = False
        while not silent and not isinstance(step := self._next_step(disconnected), End):
            if isinstance(step, Failure):
                step.abort(context)
            silent = isinstance(step, Silence) or self._take_silence()
            if not isinstance(step, Silence):
                yield step
        if silent:
            disconnected.wait()

    def GetLogs(
        self, request: pod_pb.GetLogsRequest, context: grpc.ServicerContext
    ) -> Iterator[pod_pb.GetLogsResponse]:
        self._begin(request, context)
        context.add_callback(self.log_ended.set)
        for piece in self.log:
            if isinstance(piece, Failure):
                piece.abort(context)
            if isinstance(piece, Silence):
                self.log_ended.wait()
            else:
                yield pod_pb.GetLogsResponse(data=piece)

    def GetLogLines(
        self, request: log_lines_pb2.GetLogLinesRequest, context: grpc.ServicerContext
    ) -> Iterator[log_lines_pb2.GetLogLinesResponse]:
        yield from self._play(request, context)  # type: ignore[misc]

    def _next_step(self, disconnected: threading.Event) -> Step:
        """Wait for the next step. Steps that a client does not receive remain for its next
        stream.
        """
        with self.changed:
            self.changed.wait_for(lambda: self.steps or disconnected.is_set())
            return End() if disconnected.is_set() else self.steps.popleft()

    def _take_silence(self) -> bool:
        """Take the silence after a step, before the step is sent.

        The client may disconnect immediately after the step, and its next stream must not
        begin with the silence.
        """
        with self.changed:
            if not (self.steps and isinstance(self.steps[0], Silence)):
                return False
            self.steps.popleft()
            return True

    def Create(
        self, request: write_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> write_pb2.CreateResponse:
        self._begin(request, context)
        created = pod("web", namespace=request.namespace, spec={"created": True})
        return write_pb2.CreateResponse(
            resource=PODS, object=encoded(created, request.encoding), warnings=["old"]
        )

    def Update(
        self, request: write_pb2.UpdateRequest, context: grpc.ServicerContext
    ) -> write_pb2.UpdateResponse:
        self._begin(request, context)
        if self.conflict:
            status = Status(reason="Conflict")
            Failure(grpc.StatusCode.ABORTED, "it has changed", status).abort(context)
        updated = pod("web", version="8", spec={"updated": True})
        return write_pb2.UpdateResponse(
            resource=PODS,
            object=encoded(updated, request.encoding),
            warnings=["old"],
            created=True,
        )

    def Patch(
        self, request: write_pb2.PatchRequest, context: grpc.ServicerContext
    ) -> write_pb2.PatchResponse:
        self._begin(request, context)
        patched = pod(request.name, namespace=request.namespace, spec={"patched": True})
        created = request.type == write_pb2.PATCH_TYPE_APPLY
        return write_pb2.PatchResponse(
            resource=PODS,
            object=encoded(patched, request.encoding),
            warnings=["old"],
            created=created,
        )

    def Delete(
        self, request: write_pb2.DeleteRequest, context: grpc.ServicerContext
    ) -> write_pb2.DeleteResponse:
        self._begin(request, context)
        left = pod(request.name, namespace=request.namespace) if self.left else None
        return write_pb2.DeleteResponse(
            resource=PODS, object=left, warnings=["old"], resource_version="9"
        )

    def DeleteCollection(
        self, request: write_pb2.DeleteCollectionRequest, context: grpc.ServicerContext
    ) -> write_pb2.DeleteCollectionResponse:
        self._begin(request, context)
        return write_pb2.DeleteCollectionResponse(
            deleted_count=3, warnings=["old"], resource_version="9"
        )

    def WhoAmI(
        self, request: access_pb.WhoAmIRequest, context: grpc.ServicerContext
    ) -> access_pb.WhoAmIResponse:
        self._begin(request, context)
        extra = {"scopes": access_pb.ExtraValue(values=["a", "b"])}
        return access_pb.WhoAmIResponse(username="ann", groups=["readers"], extra=extra)

    def CheckAccess(
        self, request: access_pb.CheckAccessRequest, context: grpc.ServicerContext
    ) -> access_pb.CheckAccessResponse:
        """Allow all reads."""
        self._begin(request, context)
        reads = [check.verb in ("get", "list", "watch") for check in request.checks]
        decisions = [
            access_pb.AccessDecision(allowed=read, reason="RBAC" if read else "") for read in reads
        ]
        return access_pb.CheckAccessResponse(decisions=decisions[: self.decisions])

    def _begin(self, request: object, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        self.begun.set()
        self.peers.append(context.peer())
        self.metadata.append(dict(context.invocation_metadata()))
        for name in context.auth_context().get("x509_common_name", ()):
            self.certified.append(bytes(name).decode())
        if self.request_id:
            context.send_initial_metadata((("x-request-id", self.request_id),))
        if self.stuck:
            ended = threading.Event()
            if context.add_callback(ended.set):
                ended.wait()
        if self.tokens is not None and self._token() not in self.tokens:
            Failure(grpc.StatusCode.UNAUTHENTICATED, "the credential has expired").abort(context)
        if self.refusals:
            self.refusals.popleft().abort(context)
        if self.failure:
            self.failure.abort(context)

    def _token(self) -> str:
        """Return the bearer token of the last call."""
        return str(self.metadata[-1].get("authorization", "")).removeprefix("Bearer ")


def pod(
    name: str, *, namespace: str = "demo", version: str = "7", **content: Any
) -> object_pb2.Object:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": version}
    return object_pb2.Object(
        namespace=namespace,
        name=name,
        uid=f"uid-{name}",
        resource_version=version,
        json=json.dumps({"kind": "Pod", "metadata": metadata, **content}).encode(),
    )


def encoded(pod: object_pb2.Object, encoding: object_pb2.Encoding) -> object_pb2.Object:
    """Return a pod in the encoding of a request, as the service does."""
    if encoding != object_pb2.ENCODING_PROTOBUF or not pod.json:
        return pod
    node = json.loads(pod.json).get("spec", {}).get("nodeName")
    return packed(
        Pod(
            metadata=ObjectMeta(
                name=pod.name,
                namespace=pod.namespace,
                uid=pod.uid,
                resourceVersion=pod.resource_version,
            ),
            spec=PodSpec(nodeName=node),
        )
    )


def packed(pod: Pod) -> object_pb2.Object:
    """Return a message as the service sends it."""
    return object_pb2.Object(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        resource_version=pod.metadata.resourceVersion,
        protobuf=pod.SerializeToString(),
    )


def row(pod: object_pb2.Object) -> table_pb2.TableRow:
    return table_pb2.TableRow(
        cells=[Value(string_value=pod.name), Value(number_value=2)],
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        resource_version=pod.resource_version,
    )


def source_of(
    request: read_pb2.GetRequest | read_pb2.ListRequest | read_pb2.CountRequest,
) -> consistency_pb2.Source:
    latest = request.consistency == consistency_pb2.CONSISTENCY_LATEST
    return consistency_pb2.SOURCE_API_SERVER if latest else consistency_pb2.SOURCE_CACHE


def batch(token: str, *events: watch_pb2.Event, kind: bool = False) -> watch_pb2.WatchResponse:
    return watch_pb2.WatchResponse(
        events=events, resume_token=token, resource=PODS if kind else None
    )


def of_watch(index: int, token: str, *events: watch_pb2.Event) -> watch_pb2.WatchManyResponse:
    """Return a message with events of one of several watches."""
    return watch_pb2.WatchManyResponse(
        watch_index=index, response=batch("", *events, kind=True), resume_token=token
    )


def event(
    type: watch_pb2.EventType, pod: object_pb2.Object | None, version: str
) -> watch_pb2.Event:
    return watch_pb2.Event(type=type, object=pod, resource_version=version)


@contextmanager
def serve(
    tls: grpc.ServerCredentials | None = None, port: int = 0, service: FakeService | None = None
) -> Iterator[FakeService]:
    """Serve on this host, on ``port`` or a free port."""
    service = service or FakeService()
    with ThreadPoolExecutor(8, THREADS) as threads:
        # Allow any number of pings, like the service.
        server = grpc.server(threads, options=[("grpc.http2.max_ping_strikes", 0)])
        add_ResourceServiceServicer_to_server(service, server)
        add_DiscoveryServiceServicer_to_server(service, server)
        add_PodServiceServicer_to_server(service, server)
        add_AccessServiceServicer_to_server(service, server)
        if tls:
            port = server.add_secure_port(f"127.0.0.1:{port}", tls)
        else:
            port = server.add_insecure_port(f"127.0.0.1:{port}")
        service.address = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        server.start()
        yield service
        server.stop(None).wait()
