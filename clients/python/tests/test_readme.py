"""Tests that run the programs of the README."""

import json
import math
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import NoReturn

import grpc
import pytest
from google.protobuf.struct_pb2 import Value

from kubeconnect import NotFound, Resource, SchemaResult, testing
from kubeconnect.k8s.core.v1 import Node, NodeStatus, NodeSystemInfo, Pod, PodSpec, PodStatus
from kubeconnect.k8s.meta.v1 import ObjectMeta
from kubeconnect.types import typed_dicts
from kubeconnect.v1 import (
    consistency_pb2,
    log_lines_pb2,
    object_pb2,
    read_pb2,
    watch_pb2,
)
from kubeconnect.v1.object_pb2 import ENCODING_PROTOBUF
from tests import live
from tests.fake import Failure, FakeService, Silence, batch, encoded, event, of_watch, packed, pod

README = Path(__file__).parents[1] / "README.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
SECTIONS = {
    section.partition("\n")[0]: re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    for section in README.read_text().split("\n## ")
}
READ, OBJECT, NAMESPACES = SECTIONS.pop("Read")
SELECT, NOT_READY, JOINS = SECTIONS.pop("Select")
COUNT, AGGREGATES, LIVE_COUNTS = SECTIONS.pop("Count")
(LATEST,) = SECTIONS.pop("Read from the API server")
(DISCOVER,) = SECTIONS.pop("Discover")
WATCH, CUT_OFF, RESUME = SECTIONS.pop("Watch")
(LIVE_PAGE,) = SECTIONS.pop("Live pages")
(MANY,) = SECTIONS.pop("Watch many")
SECTIONS.pop("Store")  # test_readme_stores.py runs its programs
SECTIONS.pop("Controller")  # test_readme_controllers.py runs its programs
LOGS, LOG_LINES = SECTIONS.pop("Logs")
SECTIONS.pop("Containers")  # test_readme_containers.py runs its programs
(WAIT,) = SECTIONS.pop("Wait")
(CREATE,) = SECTIONS.pop("Create")
(UPDATE,) = SECTIONS.pop("Update")
(APPLY,) = SECTIONS.pop("Apply")
(PATCH,) = SECTIONS.pop("Patch")
(VERBS,) = SECTIONS.pop("Scale, restart, evict, cordon")
(DELETE,) = SECTIONS.pop("Delete")
TYPED, TYPED_WRITES, TYPED_STORES, CLUSTER_TYPES = SECTIONS.pop("Typed objects")
SECTIONS.pop("Notebooks and data frames")  # test_readme_data.py runs its programs
(ASYNCIO,) = SECTIONS.pop("asyncio")
(ACCESS,) = SECTIONS.pop("Identity and permissions")
(INTERRUPT,) = SECTIONS.pop("Threads, asyncio and processes")
(ERRORS,) = SECTIONS.pop("Errors")
(TRACE,) = SECTIONS.pop("Tracing")
SECTIONS.pop("Testing your programs")  # test_testing_readme.py runs its program
CONNECT, CONTEXT, TOKENS = SECTIONS.pop("Addresses and credentials")
(FILE,) = re.findall(r"```toml\n(.*?)```", README.read_text(), re.DOTALL)
MOUNTED = "/var/run/secrets/tokens/kubeconnect"

OBJECT_SHOWN = """\
1 pods, the first is <Object Pod demo/web>
None {} None False
{"nodeName": "n1"}
"""
DELETED = """\
remaining: <Object Pod demo/web>
1 pods, without it or with its deletionTimestamp
3 deleted
"""
RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
TIMEOUT = Failure(grpc.StatusCode.DEADLINE_EXCEEDED)
NOT_FOUND = Failure(grpc.StatusCode.NOT_FOUND)


def test_there_are_no_other_programs() -> None:
    assert not any(SECTIONS.values())


def test_the_objects_of_the_programs_can_be_applied() -> None:
    objects = README.parent / "examples/demo.yaml"
    with testing.FakeService() as service, service.client() as client:
        client.apply_yaml(objects.read_text())
        assert [pod.name for pod in client.list("pods", namespace="demo")] == ["web", "web-0"]
        assert client.list("deployments", namespace="demo", label_selector="app=web").total == 1


def test_each_program_passes_mypy_strict(tmp_path: Path) -> None:
    paths = [tmp_path / f"program{number}.py" for number in range(len(PROGRAMS))]
    for path, program in zip(paths, PROGRAMS, strict=True):
        path.write_text(program)
    spec = {"type": "object", "properties": {"nodeName": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    pod = SchemaResult(Resource("", "v1", "Pod", "pods", namespaced=True), schema)
    (tmp_path / "cluster_types.py").write_text(typed_dicts([pod]))
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=pyproject.toml"]
    checked = subprocess.run(
        [*mypy, *map(str, paths)], cwd=README.parent, capture_output=True, text=True
    )
    assert checked.stdout.splitlines()[-1].startswith("Success"), checked.stdout + checked.stderr


def run(program: str, service: FakeService) -> None:
    service.objects = [pod("web", spec={"nodeName": "n1"})]
    service.log = [b"one\ntw", b"o\n"]
    exec(program.replace("http://127.0.0.1:8080", service.address), {})


@pytest.mark.parametrize(
    ("program", "prints"),
    [
        pytest.param(READ, "web n1\n1 pods at version 1000\ndemo web\n", id="read"),
        pytest.param(OBJECT, OBJECT_SHOWN, id="object"),
        pytest.param(SELECT, "web n1\n2 left out\n", id="select"),
        pytest.param(NAMESPACES, "1 pods in all namespaces\n", id="all namespaces"),
        pytest.param(NOT_READY, "web\n2 left out\n", id="not ready"),
        pytest.param(COUNT, "1 pods\nw 1\n", id="count"),
        pytest.param(
            LATEST,
            "7 Source.API_SERVER\n{'nodeName': 'n1'}\nName Restarts\nweb 2\n",
            id="latest",
        ),
        pytest.param(DISCOVER, "pods po get list watch\nv1 spec\n", id="discover"),
        pytest.param(LOGS, "one\ntwo\n", id="logs"),
        pytest.param(CREATE, "7 old\nweb\n", id="create"),
        pytest.param(UPDATE, "now at 8\n", id="update"),
        pytest.param(PATCH, "7 old\n", id="patch"),
        pytest.param(VERBS, "scaled at 7\n", id="scale, restart, evict, cordon"),
        pytest.param(DELETE, DELETED, id="delete"),
        pytest.param(TYPED_WRITES, "now at 8\n", id="typed writes"),
        pytest.param(CLUSTER_TYPES, "n1\n", id="types of the cluster"),
        pytest.param(ASYNCIO, "demo web\n", id="asyncio"),
        pytest.param(ACCESS, "ann\nTrue RBAC False\nFalse\n", id="access"),
    ],
)
def test_program_runs(
    service: FakeService, capsys: pytest.CaptureFixture[str], program: str, prints: str
) -> None:
    run(program, service)
    assert capsys.readouterr().out == prints


def test_the_request_id_of_an_error_is_printed(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    service.request_id = "42"
    run(ERRORS, service)
    assert capsys.readouterr().out == 'pods "nobody" not found\nin the log: 42\n'


def test_calls_are_in_the_printed_trace(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    run(TRACE, service)
    pods, _, trace = capsys.readouterr().out.strip().partition(" pods, trace ")
    (sent,) = (str(each["traceparent"]) for each in service.metadata)
    assert (pods, trace) == ("1", sent.split("-")[1])


def test_related_objects_are_printed(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    web = pod("web")
    labels = {"topology.kubernetes.io/zone": "a"}
    node = pod("n1", namespace="")
    node.json = json.dumps({"metadata": {"labels": labels}}).encode()
    web.joined.add(name="node", count=1, objects=[node])
    web.joined.add(name="deployment", count=1)
    service.objects = [web]
    exec(JOINS.replace("http://127.0.0.1:8080", service.address), {})
    assert capsys.readouterr().out == "web a 1\n"


def test_lines_of_logs_are_printed(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    service.play(log_lines_pb2.GetLogLinesResponse(lines=[live.line("web", "an error")]), NOT_FOUND)
    with pytest.raises(NotFound):
        run(LOG_LINES, service)
    assert capsys.readouterr().out == "1970-01-01 00:00:01+00:00 web/main an error\n"


def test_aggregates_are_printed(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    newest = read_pb2.AggregateResult(value=Value(string_value="2026-01-02T03:04:05Z"))
    service.aggregates = [live.total(0.5, "0.5"), newest]
    run(AGGREGATES, service)
    first, group, *_ = capsys.readouterr().out.splitlines()
    assert first == "1 pods request 0.5 CPUs"
    assert group == "w 0.5 2026-01-02T03:04:05Z"


def test_counts_are_followed(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    service.play(
        live.counts("5", live.group("Running", 3), reset=True),
        live.counts("6", live.group("Failed", 1), total=4),
        NOT_FOUND,
    )
    with pytest.raises(NotFound):
        run(LIVE_COUNTS, service)
    assert capsys.readouterr().out == "{'Running': 3}\n{'Running': 3, 'Failed': 1}\n"


def test_a_page_is_followed(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    first = live.placed(watch_pb2.EVENT_TYPE_ADDED, "a")
    second = live.placed(watch_pb2.EVENT_TYPE_ADDED, "b")
    service.play(
        live.page("t1", RESET, first, SYNCED, state=live.state(1)),
        live.page("t2", second, state=live.state(2)),
        NOT_FOUND,
    )
    with pytest.raises(NotFound):
        run(LIVE_PAGE, service)
    assert capsys.readouterr().out == ("0 to 1 of 1 pods\nADDED a 0\n0 to 2 of 2 pods\nADDED b 0\n")


def test_update_prints_a_conflict(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    service.conflict = True
    run(UPDATE, service)
    assert capsys.readouterr().out == "read it again: it has changed\n"


def test_a_file_is_applied(
    service: FakeService,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    documents = [
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n" for name in ("a", "b")
    ]
    Path("app.yaml").write_text("---\n".join(documents))
    run(APPLY, service)
    assert capsys.readouterr().out == "settings created\na old\nb old\n"


def test_a_rollout_is_waited_for(
    service: FakeService, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._sync._event_stream.TOLERANCE_SECONDS", math.inf)
    web = pod("web", spec={"replicas": 0})
    web.json = web.json.replace(b'"Pod"', b'"Deployment"')
    complete = event(watch_pb2.EVENT_TYPE_ADDED, web, "7")
    service.play(of_watch(0, "t1", RESET, complete), Silence())
    service.play(of_watch(0, "t1", RESET, SYNCED), TIMEOUT)
    run(WAIT, service)
    assert capsys.readouterr().out.splitlines() == [
        "web is rolled out",
        "condition=Ready of pods demo/web-0: not met within 60 seconds; "
        "last state: it does not exist",
    ]


def test_list_prints_its_namespaces(
    service: FakeService, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._sync._event_stream.TOLERANCE_SECONDS", math.inf)
    service.namespaces = ["demo", "web"]
    run(NAMESPACES, service)
    assert capsys.readouterr().out == (
        "only of demo web\nnot allowed to list pods in all namespaces\n"
    )


def test_watch_prints_its_connection(
    service: FakeService, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)
    lost = Failure(grpc.StatusCode.UNAVAILABLE, "the service stops")
    service.play(batch("t9", RESET, SYNCED), lost, [RESET], NOT_FOUND)
    with pytest.raises(NotFound):
        run(CUT_OFF, service)
    assert capsys.readouterr().out.splitlines() == [
        "RESET: connected is True",
        "SYNCED: connected is True",
        "disconnected (the service stops): connected is False",
        "RESET: connected is True",
    ]


def test_a_watch_may_be_interrupted_and_may_time_out(
    service: FakeService, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._sync._event_stream.TOLERANCE_SECONDS", math.inf)
    service.play(batch("t9", RESET), TIMEOUT)
    run(INTERRUPT, service)
    monkeypatch.setattr("kubeconnect._event_reader.EventReader.read", interrupted)
    service.play(batch("t9", RESET))
    run(INTERRUPT, service)
    assert capsys.readouterr().out.splitlines() == [
        "RESET None",
        "the watch of pods demo ended after 3600 seconds",
        "interrupted",
    ]


def interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def test_tokens_are_renewed(
    service: FakeService, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("t1")
    service.tokens = {"t1"}
    run(TOKENS.replace(MOUNTED, str(tmp_path / "token")), service)
    assert capsys.readouterr().out == "1\n1\n"


def test_the_file_configures_the_client(
    service: FakeService,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("ADDRESS", "TOKEN", "TOKEN_FILE", "CA_FILE"):
        monkeypatch.delenv(f"KUBECONNECT_{variable}", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config").mkdir()
    file = FILE.replace("https://kubeconnect.example.com", service.address)
    (tmp_path / ".config/kubeconnect.toml").write_text(file)
    (tmp_path / "kubeconnect.token").write_text("t1")
    service.tokens = {"t1"}
    run(CONNECT, service)
    assert capsys.readouterr().out == f"ann at <Client {service.address}>\n"


def test_a_context_has_the_credentials(
    service: FakeService,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = {"name": "ann", "user": {"token": "t1"}}
    context = {"name": "prod", "context": {"user": "ann"}}
    (tmp_path / "config").write_text(json.dumps({"contexts": [context], "users": [user]}))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    service.tokens = {"t1"}
    run(CONTEXT.replace("https://kubeconnect.example.com", service.address), service)
    assert capsys.readouterr().out == "ann\n"


def test_watch_runs_until_the_resource_is_deleted(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    service.play(
        [
            RESET,
            event(watch_pb2.EVENT_TYPE_ADDED, pod("a"), "7"),
            event(watch_pb2.EVENT_TYPE_ADDED, pod("b"), "8"),
            event(watch_pb2.EVENT_TYPE_DELETED, pod("b"), "9"),
            SYNCED,
        ],
        NOT_FOUND,
    )
    with pytest.raises(NotFound):
        run(WATCH, service)
    assert capsys.readouterr().out == "synced 1 pods\n"


def test_typed_watch_runs_until_the_resource_is_gone(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    web = encoded(pod("web"), ENCODING_PROTOBUF)
    service.play([RESET, event(watch_pb2.EVENT_TYPE_ADDED, web, "7"), SYNCED], NOT_FOUND)
    with pytest.raises(NotFound):
        run(TYPED, service)
    assert capsys.readouterr().out == "web n1 None\nweb \n"


def test_typed_stores_have_messages(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    running = Pod(
        metadata=ObjectMeta(namespace="demo", name="web", uid="u1"),
        spec=PodSpec(nodeName="n1"),
        status=PodStatus(phase="Running", podIP="10.0.0.7"),
    )
    node = Node(status=NodeStatus(nodeInfo=NodeSystemInfo(kubeletVersion="v1.36.2")))
    n1 = object_pb2.Object(name="n1", protobuf=node.SerializeToString())
    web_added = event(watch_pb2.EVENT_TYPE_ADDED, packed(running), "7")
    node_added = event(watch_pb2.EVENT_TYPE_ADDED, n1, "7")
    service.play([RESET, web_added, SYNCED], Silence())
    service.play(of_watch(0, "t1", RESET, SYNCED), of_watch(1, "t2", RESET, node_added, SYNCED))
    service.play(Silence(), of_watch(0, "t1", RESET, web_added))
    run(TYPED_STORES, service)
    assert capsys.readouterr().out == "web Running\nv1.36.2\n10.0.0.7\n"


def test_resume_continues_after_a_restart(
    service: FakeService,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = [
        event(watch_pb2.EVENT_TYPE_ADDED, pod(name, namespace=""), "7") for name in ("n1", "n2")
    ]
    service.play(batch("t9", RESET, *nodes, SYNCED), NOT_FOUND)
    with pytest.raises(NotFound):
        run(RESUME, service)
    without_content = pod("n1", namespace="")
    without_content.ClearField("content")
    freshness = consistency_pb2.Freshness(stale=True)
    freshness.last_contact_time.FromDatetime(datetime(2026, 1, 2, 12, 31, 7, tzinfo=timezone.utc))
    deletion = batch("t10", event(watch_pb2.EVENT_TYPE_DELETED, without_content, "10"))
    deletion.freshness.CopyFrom(freshness)
    service.play(deletion, NOT_FOUND)
    with pytest.raises(NotFound):
        run(RESUME, service)
    assert [request.resume_token for request in service.requests] == ["", "t9"]
    assert json.loads(Path("nodes.json").read_text()) == {"token": "t10", "names": ["n2"]}
    assert capsys.readouterr().out == "as of 2026-01-02 12:31:07+00:00\n"


def test_watch_many_runs_until_one_resource_is_deleted(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [event(watch_pb2.EVENT_TYPE_ADDED, pod(name), "7") for name in ("a", "b")]
    service.play(
        of_watch(0, "t1", RESET, *pods, SYNCED),
        of_watch(1, "t2", RESET, SYNCED),
        of_watch(0, "t3", event(watch_pb2.EVENT_TYPE_DELETED, pod("b"), "9")),
        NOT_FOUND,
    )
    with pytest.raises(NotFound):
        run(MANY, service)
    assert capsys.readouterr().out == "2 pods 0 nodes\n1 pods 0 nodes\n"
