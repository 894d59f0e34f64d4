"""Tests of ``kubeconnect logs``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from kubeconnect import Object, Resource
from kubeconnect._cli._containers import LogOptions, containers_of
from kubeconnect.v1 import object_pb2
from kubeconnect.v1 import pod_service_pb2 as pod_pb
from tests.cli_service import CliService, run, running_pod, serve_cli
from tests.fake import Failure

PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
LOST = Failure(grpc.StatusCode.UNAVAILABLE, "the service ends")
DENIED = Failure(grpc.StatusCode.PERMISSION_DENIED, "not allowed to get pods/log")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[CliService]:
    monkeypatch.setattr("kubeconnect._cli._log_lines._RETRY_SECONDS", 0.0)
    with serve_cli() as service:
        service.objects = [running_pod("one"), running_pod("two", "main", "sidecar")]
        service.logs = {"one": [b"a\n", b"b\n"], "two": [b"c\n"]}
        yield service


def requests(service: CliService) -> list[pod_pb.GetLogsRequest]:
    return [each for each in service.requests if isinstance(each, pod_pb.GetLogsRequest)]


def test_prints_the_log_of_a_pod(service: CliService) -> None:
    options = ["--tail", "5", "--since", "2m", "--timestamps", "-p", "-c", "main"]
    assert run(service, "logs", "one", *options).output == "a\nb\n"
    (request,) = requests(service)
    assert (request.namespace, request.name, request.container) == ("default", "one", "main")
    assert (request.tail_lines, request.since_seconds) == (5, 120)
    assert request.timestamps
    assert request.previous
    assert not request.follow


def test_prints_the_logs_of_several_pods_with_a_prefix(service: CliService) -> None:
    result = run(service, "logs", "-l", "app=web")
    assert result.output == "[pod/one/main] a\n[pod/one/main] b\n[pod/two/main] c\n"
    assert [each.tail_lines for each in requests(service)] == [10, 10]
    assert run(service, "logs", "deployment/web", "--no-prefix").exit_code == 0
    assert not requests(service)[-1].HasField("tail_lines")


def test_pods_of_all_namespaces_have_their_namespaces_as_prefix(service: CliService) -> None:
    service.objects[1].namespace = "shop"
    result = run(service, "logs", "-A", "-l", "app=web", "--tail", "-1")
    assert result.output == "[default/one/main] a\n[default/one/main] b\n[shop/two/main] c\n"
    assert [each.namespace for each in requests(service)] == ["default", "shop"]
    service.objects = []
    assert run(service, "logs", "-A").stderr == "No pods found.\n"


def test_prints_the_other_logs_if_one_fails(service: CliService) -> None:
    service.logs["one"] = [DENIED]
    result = run(service, "logs", "-l", "app=web")
    assert result.stdout == "[pod/two/main] c\n"
    assert result.exit_code == 1
    assert result.stderr.startswith("error: [pod/one/main] not allowed to get pods/log\n")


T1, T2, T3 = ("2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.12Z", "2026-01-02T03:04:06Z")


def test_a_followed_log_that_is_lost_continues_after_its_last_line(service: CliService) -> None:
    service.logs["one"] = [
        f"{T1} a\n{T2} b\n{T2} c\n".encode(),
        LOST,
        LOST,
        f"{T1} a\n{T2} b\n{T2} c\n{T2} d\n{T3} e\n".encode(),
    ]
    result = run(service, "logs", "-f", "one", "--tail", "3")
    assert result.stdout == "a\nb\nc\nd\ne\n"
    assert result.stderr == "warning: [pod/one/main] the service ends\n"
    assert result.exit_code == 0
    first, *others = requests(service)
    assert first.tail_lines == 3
    assert not first.HasField("since_time")
    for each in others:
        assert not each.HasField("tail_lines")
        assert each.since_time.ToJsonString() == "2026-01-02T03:04:05Z"


def test_a_followed_log_that_cannot_be_opened_fails(service: CliService) -> None:
    service.logs["one"] = [LOST]
    result = run(service, "logs", "-f", "one")
    assert result.exit_code == 1
    assert len(requests(service)) == 1


def test_the_time_of_lines_is_printed_on_request(service: CliService) -> None:
    service.logs["one"] = [f"{T1} a\n".encode()]
    assert run(service, "logs", "-f", "one", "--timestamps").output == f"{T1} a\n"


@pytest.mark.parametrize("arguments", [[], ["one", "-l", "app=web"], ["one", "-A"]])
def test_either_a_pod_or_a_selector_is_needed(service: CliService, arguments: list[str]) -> None:
    assert run(service, "logs", *arguments).exit_code == 2


def names(options: LogOptions, **content: Any) -> list[str]:
    metadata = {"annotations": content.pop("annotations", {})}
    data = json.dumps({"metadata": metadata, **content}).encode()
    pod = Object(object_pb2.Object(namespace="default", name="web", json=data), PODS)
    return [f"{each.name} {each.run}".strip() for each in containers_of(pod, options)]


def test_the_containers_of_a_pod() -> None:
    spec = {
        "initContainers": [{"name": "init"}],
        "containers": [{"name": "main"}, {"name": "sidecar"}],
    }
    statuses = [
        {"name": "main", "state": {"running": {}}, "containerID": "id1"},
        {"name": "sidecar", "state": {"waiting": {}}, "restartCount": 2},
    ]
    status = {"containerStatuses": statuses}
    assert names(LogOptions(), spec=spec, status=status) == ["main id1"]
    assert names(LogOptions(container="sidecar"), spec=spec, status=status) == ["sidecar"]
    everything = LogOptions(all_containers=True)
    assert names(everything, spec=spec, status=status) == ["init", "main id1", "sidecar"]
    default = {"kubectl.kubernetes.io/default-container": "sidecar"}
    assert names(LogOptions(), spec=spec, annotations=default) == ["sidecar"]
    gone = {"kubectl.kubernetes.io/default-container": "gone"}
    assert names(LogOptions(), spec=spec, annotations=gone) == ["main"]
