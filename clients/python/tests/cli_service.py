"""A fake service for the command line: it serves several resources, and reads by name."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from google.protobuf.struct_pb2 import NULL_VALUE, Value

from kubeconnect._cli._program import COMPLETE, NAME, program
from kubeconnect.v1 import discovery_service_pb2 as discovery_pb
from kubeconnect.v1 import object_pb2, read_pb2, table_pb2
from kubeconnect.v1 import pod_service_pb2 as pod_pb
from kubeconnect.v1.status_pb2 import Status
from tests.fake import PODS, SNAPSHOT, Failure, FakeService, pod, serve

COMMAND = [sys.executable, "-m", "kubeconnect"]
NODES = object_pb2.Resource(version="v1", kind="Node", plural="nodes")
DEPLOYMENTS = object_pb2.Resource(
    group="apps", version="v1", kind="Deployment", plural="deployments", namespaced=True
)
CONFIGMAPS = object_pb2.Resource(
    version="v1", kind="ConfigMap", plural="configmaps", namespaced=True
)
TYPES = [
    discovery_pb.ResourceType(
        resource=resource,
        versions=["v1"],
        singular=resource.kind.lower(),
        short_names=[short],
        categories=categories,
        verbs=["get", "list", "watch"],
    )
    for resource, short, categories in (
        (CONFIGMAPS, "cm", []),
        (NODES, "no", []),
        (PODS, "po", ["all"]),
        (DEPLOYMENTS, "deploy", ["all"]),
    )
]


@dataclass
class CliService(FakeService):
    """Serves pods under the name of each resource. ``statuses`` are the cells of their rows."""

    statuses: dict[str, str] = field(default_factory=dict)
    logs: dict[str, list[bytes | Failure]] = field(default_factory=dict)
    table_failure: Failure | None = None  # of tables of all namespaces
    table_refusals: list[Failure] = field(default_factory=list)  # of the next tables

    def ListResourceTypes(
        self, request: discovery_pb.ListResourceTypesRequest, context: grpc.ServicerContext
    ) -> discovery_pb.ListResourceTypesResponse:
        self._begin(request, context)
        return discovery_pb.ListResourceTypesResponse(resource_types=TYPES)

    def List(
        self, request: read_pb2.ListRequest, context: grpc.ServicerContext
    ) -> read_pb2.ListResponse:
        if request.order_by:
            reverse = request.order_by.endswith(" desc")
            self.objects = sorted(self.objects, key=lambda each: each.name, reverse=reverse)
        return super().List(request, context)

    def Count(
        self, request: read_pb2.CountRequest, context: grpc.ServicerContext
    ) -> read_pb2.CountResponse:
        """Count by fields below two levels, such as spec.nodeName."""
        self._begin(request, context)
        paths = [path.split(".") for path in request.group_by]
        counts = Counter(
            tuple((json.loads(each.json).get(first) or {}).get(last) for first, last in paths)
            for each in self.objects
        )
        ordered = sorted(counts.items(), key=lambda item: (-item[1], [str(v) for v in item[0]]))
        groups = [
            read_pb2.ObjectGroup(values=[_value(each) for each in values], count=count)
            for values, count in ordered
        ]
        shown = groups[: request.max_groups or None] if paths else []
        return read_pb2.CountResponse(
            resource=PODS,
            total_count=len(self.objects),
            groups=shown,
            remaining_group_count=len(groups) - len(shown) if paths else 0,
            namespaces=self.namespaces,
            warnings=["only of some namespaces"] if self.namespaces else [],
        )

    def GetTable(
        self, request: table_pb2.GetTableRequest, context: grpc.ServicerContext
    ) -> table_pb2.GetTableResponse:
        self._begin(request, context)
        if self.table_refusals:
            self.table_refusals.pop().abort(context)
        if self.table_failure and not request.namespace:
            self.table_failure.abort(context)
        selected = request.name or request.field_selector.removeprefix("metadata.name=")
        found = [
            each
            for each in self.objects
            if request.namespace in ("", each.namespace) and selected in ("", each.name)
        ]
        if request.name and not found:
            message = f'pods "{request.name}" not found'
            Failure(grpc.StatusCode.NOT_FOUND, message, Status(reason="NotFound")).abort(context)
        deployments = request.resource.startswith("deploy")
        return table_pb2.GetTableResponse(
            resource=DEPLOYMENTS if deployments else PODS,
            columns=[
                table_pb2.TableColumn(name="Name", type="string", format="name"),
                table_pb2.TableColumn(name="Status", type="string"),
                table_pb2.TableColumn(name="Nominated Node", type="string", priority=1),
            ],
            rows=[self._row(each) for each in found],
            resource_version=SNAPSHOT,
        )

    def _row(self, pod: object_pb2.Object) -> table_pb2.TableRow:
        status = self.statuses.get(pod.name, "Running")
        cells = [
            Value(string_value=pod.name),
            Value(string_value=status),
            Value(string_value="<none>"),
        ]
        return table_pb2.TableRow(cells=cells, namespace=pod.namespace, name=pod.name, uid=pod.uid)

    def GetLogs(
        self, request: pod_pb.GetLogsRequest, context: grpc.ServicerContext
    ) -> Iterator[pod_pb.GetLogsResponse]:
        self._begin(request, context)
        for piece in self.logs.get(request.name, []):
            if isinstance(piece, Failure):
                self.logs[request.name] = self.logs[request.name][1:]
                piece.abort(context)
            self.logs[request.name] = self.logs[request.name][1:]
            yield pod_pb.GetLogsResponse(data=piece)


def _value(value: str | None) -> Value:
    return Value(null_value=NULL_VALUE) if value is None else Value(string_value=value)


def running_pod(name: str, *containers: str, namespace: str = "default") -> object_pb2.Object:
    """Return a pod whose containers run."""
    names = containers or ("main",)
    statuses: list[dict[str, Any]] = [
        {"name": each, "containerID": f"id-{name}-{each}", "state": {"running": {}}}
        for each in names
    ]
    return pod(
        name,
        namespace=namespace,
        spec={"containers": [{"name": each} for each in names]},
        status={"containerStatuses": statuses},
    )


@contextmanager
def serve_cli() -> Iterator[CliService]:
    service = CliService()
    with serve(service=service):
        yield service


def run(service: FakeService, *arguments: str, input: str | None = None) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(program, ["--address", service.address, *arguments], input=input)


def complete(service: CliService, words: str) -> list[str]:
    """Return what a shell offers for the last of some words."""
    *before, last = words.split(" ")
    shell = ShellComplete(program, {}, NAME, COMPLETE)
    before = ["--address", service.address, *before]
    return [each.value for each in shell.get_completions(before, last)]


def environment(service: CliService, **variables: str) -> Mapping[str, str]:
    """Return an environment with the address of the service and without settings of terminals."""
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    return {**kept, "KUBECONNECT_ADDRESS": service.address, **variables}


def on_terminal(service: CliService, *arguments: str, **variables: str) -> str:
    """Return what a command prints on a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment(service, **{"TERM": "xterm", **variables}),
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
    ) as process:
        os.close(follower)
        output = b""
        try:
            while chunk := os.read(leader, 65536):
                output += chunk
        except OSError:  # the process has ended
            pass
        finally:
            os.close(leader)
    assert process.returncode == 0, output
    return output.decode().replace("\r\n", "\n")
