"""Tests of ``kubeconnect watch`` and ``kubeconnect get -w``."""

from __future__ import annotations

import json
from collections.abc import Iterator

import grpc
import pytest

from kubeconnect.v1 import object_pb2, watch_pb2
from tests.cli_service import CliService, run, serve_cli
from tests.fake import Failure, event, pod

RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
END = Failure(grpc.StatusCode.NOT_FOUND, "the cluster no longer serves pods")


@pytest.fixture
def service() -> Iterator[CliService]:
    with serve_cli() as service:
        yield service


def web(name: str = "web", version: str = "7") -> object_pb2.Object:
    return pod(name, namespace="default", version=version)


def added(pod: object_pb2.Object) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_ADDED, pod, pod.resource_version)


def modified(pod: object_pb2.Object) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_MODIFIED, pod, pod.resource_version)


def deleted(pod: object_pb2.Object) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_DELETED, pod, pod.resource_version)


def watches(service: CliService) -> list[watch_pb2.WatchRequest]:
    return [each for each in service.requests if isinstance(each, watch_pb2.WatchRequest)]


def test_prints_events_as_lines_of_json(service: CliService) -> None:
    service.play(
        [RESET, added(web()), SYNCED], [modified(web(version="8")), deleted(web(version="9"))], END
    )
    result = run(service, "watch", "pods", "-o", "jsonl", "-l", "app=web", "--filter", "true")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["type"] for each in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert {each["object"]["apiVersion"] for each in events} == {"v1"}
    assert result.exit_code == 1
    assert result.stderr == "error: the cluster no longer serves pods\n"
    (request,) = watches(service)
    assert (request.namespace, request.label_selector) == ("default", "app=web")
    assert request.filter == "true"


@pytest.mark.parametrize("command", [["get", "-w"], ["watch"]])
def test_prints_the_rows_of_objects(service: CliService, command: list[str]) -> None:
    service.objects = [web("web-1"), web("web-2")]
    service.statuses = {"web-2": "Pending"}
    service.play([RESET, *map(added, service.objects), SYNCED, deleted(web("web-1", "8"))], END)
    lines = run(service, *command, "pods").stdout.splitlines()
    # web-1 is left out if its deletion is received together with the snapshot.
    assert [line for line in lines if "web-1" not in line] == [
        "EVENT      NAME    STATUS",
        "ADDED      web-2   Pending",
    ]
    printed = [line for line in lines if "web-1" in line]
    assert printed in (["ADDED      web-1   Running", "DELETED    web-1   Running"], [])


def test_rows_are_read_again_if_the_service_is_unreachable(
    service: CliService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._cli._watching._RETRY_SECONDS", 0.0)
    service.objects = [web()]
    service.table_refusals.append(Failure(grpc.StatusCode.UNAVAILABLE, "gone"))
    service.play([RESET, added(web()), SYNCED], END)
    lines = run(service, "watch", "pods").stdout.splitlines()
    assert lines[1:] == ["ADDED      web    Running"]


def test_prints_names(service: CliService) -> None:
    service.play([RESET, added(web()), SYNCED], [deleted(web(version="8"))], END)
    result = run(service, "watch", "pod/web", "-o", "name")
    assert result.stdout == "ADDED    pod/web\nDELETED  pod/web\n"
    (request,) = watches(service)
    assert request.name == "web"
    assert request.fields == ["metadata.name", "metadata.resourceVersion"]


def test_prints_custom_columns(service: CliService) -> None:
    pending = pod("web", namespace="default", version="7", status={"phase": "Pending"})
    running = pod("web", namespace="default", version="8", status={"phase": "Running"})
    service.play([RESET, added(pending), SYNCED], [modified(running)], END)
    columns = "custom-columns=NAME:.metadata.name,PHASE:.status.phase"
    assert run(service, "watch", "pods", "-o", columns).stdout.splitlines() == [
        "EVENT      NAME   PHASE",
        "ADDED      web    Pending",
        "MODIFIED   web    Running",
    ]
    (request,) = watches(service)
    assert request.fields == [".metadata.name", ".status.phase"]


def test_leaves_out_the_objects_before(service: CliService) -> None:
    service.play([RESET, added(web()), SYNCED], [modified(web(version="8"))], END)
    result = run(service, "get", "pods", "--watch-only", "-o", "name")
    assert result.stdout == "MODIFIED pod/web\n"


def test_prints_what_has_changed_while_the_connection_was_lost(
    service: CliService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._sync._event_stream.TOLERANCE_SECONDS", 1e9)
    service.play(
        [RESET, added(web("a")), added(web("b")), SYNCED],
        Failure(grpc.StatusCode.UNAVAILABLE, "gone"),
        [RESET, added(web("b")), added(web("c")), SYNCED],
        END,
    )
    result = run(service, "watch", "pods", "-o", "name")
    assert result.stdout.splitlines() == [
        "ADDED    pod/a",
        "ADDED    pod/b",
        "DELETED  pod/a",
        "ADDED    pod/c",
    ]
    assert "warning: watch lost (gone); reconnecting in " in result.stderr
