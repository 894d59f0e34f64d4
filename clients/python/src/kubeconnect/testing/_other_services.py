"""The RPCs of AccessService, DiscoveryService and PodService."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import grpc

from kubeconnect._errors import KubeconnectError
from kubeconnect.testing._calls import Calls
from kubeconnect.testing._failures import abort, bad_request, not_found, unsupported
from kubeconnect.testing._logs import LineReader, Log, LogKey
from kubeconnect.testing._resources import ResourceType
from kubeconnect.testing._selections import Filters
from kubeconnect.v1 import (
    access_service_pb2,
    discovery_service_pb2,
    log_lines_pb2,
    pod_service_pb2,
)
from kubeconnect.v1.access_service_pb2_grpc import AccessServiceServicer
from kubeconnect.v1.discovery_service_pb2_grpc import DiscoveryServiceServicer
from kubeconnect.v1.pod_service_pb2_grpc import PodServiceServicer

MAX_CHECKS = 100


class AccessService(AccessServiceServicer):
    """Reports what a test allows."""

    def __init__(self, calls: Calls, username: Callable[[], str]) -> None:
        """Serve the caller of a test."""
        self._calls = calls
        self._username = username

    def WhoAmI(
        self, request: access_service_pb2.WhoAmIRequest, context: grpc.ServicerContext
    ) -> access_service_pb2.WhoAmIResponse:
        with self._calls.begin(context):
            self._calls.faults.check("access", None)
            groups = ["system:authenticated"]
            return access_service_pb2.WhoAmIResponse(username=self._username(), groups=groups)

    def CheckAccess(
        self, request: access_service_pb2.CheckAccessRequest, context: grpc.ServicerContext
    ) -> access_service_pb2.CheckAccessResponse:
        with self._calls.begin(context):
            self._calls.faults.check("access", None)
            if len(request.checks) > MAX_CHECKS:
                raise bad_request(f"{len(request.checks)} checks: give at most {MAX_CHECKS}")
            decisions = [self._decide(check) for check in request.checks]
            return access_service_pb2.CheckAccessResponse(decisions=decisions)

    def _decide(self, check: access_service_pb2.AccessCheck) -> access_service_pb2.AccessDecision:
        resource = self._calls.cluster.registry.find(check.resource)
        resource.check_namespace(check.namespace, required=False)
        if not check.verb:
            raise bad_request("verb is required")
        allowed = self._calls.faults.is_allowed(check.verb, resource, check.namespace)
        return access_service_pb2.AccessDecision(allowed=allowed)


class DiscoveryService(DiscoveryServiceServicer):
    """Reports the resources that the fake serves."""

    def __init__(self, calls: Calls) -> None:
        """Serve the resources of a cluster."""
        self._calls = calls

    def ListResourceTypes(
        self,
        request: discovery_service_pb2.ListResourceTypesRequest,
        context: grpc.ServicerContext,
    ) -> discovery_service_pb2.ListResourceTypesResponse:
        with self._calls.begin(context):
            self._calls.faults.check("discovery", None)
            group = "" if request.group == "core" else request.group
            found = [
                _resource_type(each)
                for each in self._calls.cluster.registry
                if (not request.group or each.group == group)
                and (not request.category or request.category in each.categories)
            ]
            return discovery_service_pb2.ListResourceTypesResponse(resource_types=found)

    def GetSchema(
        self, request: discovery_service_pb2.GetSchemaRequest, context: grpc.ServicerContext
    ) -> discovery_service_pb2.GetSchemaResponse:
        with self._calls.begin(context):
            self._calls.faults.check("discovery", None)
            resource = self._calls.cluster.registry.find(request.resource)
            if resource.schema is None:
                raise unsupported(
                    f"the schema of {resource.full_name}: give it to FakeService.add_resource"
                )
            response = discovery_service_pb2.GetSchemaResponse(resource=resource.to_message())
            response.schema.update(resource.schema)
            return response


def _resource_type(resource: ResourceType) -> discovery_service_pb2.ResourceType:
    return discovery_service_pb2.ResourceType(
        resource=resource.to_message(),
        singular=resource.kind.lower(),
        short_names=resource.short_names,
        categories=resource.categories,
        verbs=resource.verbs,
        subresources=resource.subresources,
        versions=[resource.version],
    )


@dataclass
class PodService(PodServiceServicer):
    """Serves the logs that a test writes."""

    calls: Calls
    filters: Filters
    logs: dict[LogKey, Log] = field(default_factory=dict)

    def GetLogs(
        self, request: pod_service_pb2.GetLogsRequest, context: grpc.ServicerContext
    ) -> Iterator[pod_service_pb2.GetLogsResponse]:
        changed = self.calls.cluster.changed
        with self.calls.begin(context):
            log = self._find(request)
            position = _start(log.data, request)
            context.add_callback(self._wake)
        try:
            while context.is_active():
                with changed:
                    self.calls.faults.check_up()
                    data, ended = log.data[position:], log.ended
                    if not data and not ended and request.follow:
                        changed.wait(1)
                        continue
                position += len(data)
                yield pod_service_pb2.GetLogsResponse(data=data)
                if ended or not request.follow:
                    return
        except KubeconnectError as error:
            abort(context, error)

    def GetLogLines(
        self, request: log_lines_pb2.GetLogLinesRequest, context: grpc.ServicerContext
    ) -> Iterator[log_lines_pb2.GetLogLinesResponse]:
        with self.calls.begin(context):
            reader = LineReader(self.calls, self.filters, self.logs, request)
            context.add_callback(self._wake)
            cuts = self.calls.faults.cuts
        try:
            while context.is_active():
                with self.calls.cluster.changed:
                    self.calls.faults.check_uncut(cuts)
                    response = reader.next()
                    if response is None and not reader.is_complete:
                        self.calls.cluster.changed.wait(1)
                if response is not None:
                    yield response
                if reader.is_complete:
                    return
        except KubeconnectError as error:
            abort(context, error)

    def _wake(self) -> None:
        with self.calls.cluster.changed:
            self.calls.cluster.changed.notify_all()

    def _find(self, request: pod_service_pb2.GetLogsRequest) -> Log:
        pods = self.calls.resource("logs", "pods", request.namespace)
        pods.check_namespace(request.namespace)
        for name in (
            "previous",
            "since_seconds",
            "since_time",
            "limit_bytes",
            "timestamps",
            "stream",
        ):
            if getattr(request, name) and (name != "since_time" or request.HasField("since_time")):
                raise unsupported(f"{name} in GetLogs")
        pod = self.calls.cluster.find(pods, (request.namespace, request.name))
        if pod is None:
            raise not_found(pods, request.name)
        containers = [each["name"] for each in (pod.get("spec") or {}).get("containers") or ()]
        container = request.container
        if not container and len(containers) > 1:
            raise bad_request(
                f"a container name must be specified for pod {request.name}, choose one of: "
                f"[{' '.join(containers)}]"
            )
        container = container or (containers or [""])[0]
        if containers and container not in containers:
            raise bad_request(f"container {container} is not valid for pod {request.name}")
        key = (request.namespace, request.name, container)
        return self.logs.setdefault(key, Log())


def _start(data: bytes, request: pod_service_pb2.GetLogsRequest) -> int:
    """Return the position of the first byte to return."""
    if not request.HasField("tail_lines"):
        return 0
    lines = data.splitlines(keepends=True)
    return len(data) - len(b"".join(lines[max(len(lines) - request.tail_lines, 0) :]))
