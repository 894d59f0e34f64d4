"""Tests of the commands that count, wait, change and describe."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from click.testing import CliRunner

from kubeconnect._cli._count_output import heading
from kubeconnect._cli._options import duration
from kubeconnect._cli._program import SECTIONS, program
from kubeconnect._cli._wait import condition_of
from kubeconnect.v1 import access_service_pb2 as access_pb
from kubeconnect.v1 import read_pb2, watch_pb2, write_pb2
from kubeconnect.v1.status_pb2 import Status, StatusCause
from tests.cli_service import CliService, run, serve_cli
from tests.fake import Failure, Silence, event, of_watch, pod


@pytest.fixture
def service() -> Iterator[CliService]:
    with serve_cli() as service:
        service.objects = [pod("web-0", namespace="default"), pod("api", namespace="default")]
        yield service


def sent(service: CliService, type: type[Any]) -> list[Any]:
    return [each for each in service.requests if isinstance(each, type)]


def test_count_prints_the_number(service: CliService) -> None:
    assert run(service, "count", "pods").output == "2\n"
    assert json.loads(run(service, "count", "pods", "-o", "json").output) == {"total": 2}


def test_count_prints_groups(service: CliService) -> None:
    service.objects = [
        pod(f"web-{i}", namespace="default", spec={"nodeName": node}, status={"phase": "Running"})
        for i, node in enumerate(["n1", "n1", "n2", None])
    ]
    result = run(
        service, "count", "pods", "-A", "--by", "node, phase", "--by", "metadata.namespace"
    )
    assert result.output.splitlines() == [
        "NODE     PHASE     NAMESPACE   COUNT",
        "n1       Running   default     2",
        "<none>   Running   default     1",
        "n2       Running   default     1",
    ]
    (request,) = sent(service, read_pb2.CountRequest)
    assert list(request.group_by) == ["spec.nodeName", "status.phase", "metadata.namespace"]
    assert request.namespace == ""


def test_count_reports_groups_that_are_left_out(service: CliService) -> None:
    result = run(service, "count", "pods", "--by", "metadata.name", "--limit", "1")
    assert result.stdout == "NAME   COUNT\napi    1\n"
    assert result.stderr == "... and 1 more groups\n"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("spec.nodeName", "NODENAME"),
        ("{.status.phase}", "PHASE"),
        ("spec.containers[*].image", "IMAGE"),
        ("spec.containers[*]", "CONTAINERS"),
        ("metadata.labels['app']", "APP"),
        ("metadata.labels['app.kubernetes.io/name']", "IO/NAME"),
    ],
)
def test_a_column_is_named_after_its_path(path: str, expected: str) -> None:
    assert heading(path) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("condition=Ready", "condition=Ready"),
        ("rollout", "rollout"),
        ("delete", "deleted"),
        ("create", "true"),
        ("object.spec.replicas > 3", "object.spec.replicas > 3"),
        ("jsonpath={.status.phase}=Running", 'string(object.status.phase) == "Running"'),
        ("jsonpath=.status.phase=a=b", 'string(object.status.phase) == "a=b"'),
        ("jsonpath={.status.loadBalancer.ingress}", "has(object.status.loadBalancer.ingress)"),
        (
            "jsonpath={.status.podIPs[0].ip}=10.0.0.1",
            'string(object.status.podIPs[0].ip) == "10.0.0.1"',
        ),
        (
            "jsonpath={.metadata.labels['a.b/c']}=\"",
            'string(object.metadata.labels["a.b/c"]) == "\\""',
        ),
        ("jsonpath={.metadata.labels['a.b/c']}", '"a.b/c" in object.metadata.labels'),
        ("jsonpath={.status.podIPs[1]}", "size(object.status.podIPs) > 1"),
    ],
)
def test_conditions_of_kubectl_are_accepted(text: str, expected: str) -> None:
    assert condition_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("30s", 30), ("1h30m", 5400), ("1.5", 1.5), ("250ms", 0.25), ("0", 0)]
)
def test_durations(text: str, expected: float) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize("arguments", [
    ["wait", "pod", "web-0"],
    ["wait", "pods", "--for", "delete"],
    ["wait", "pod/web-0", "--for", "jsonpath={..a}"],
    ["wait", "pod/web-0", "--for", "jsonpath={.a[*].b}=c"],
    ["wait", "pod/web-0", "--for", "delete", "--timeout", "1x"],
    ["scale", "deployment/web"],
    ["scale", "deployments", "--replicas", "3"],
    ["apply"],
    ["delete"],
    ["delete", "pods"],
    ["delete", "pods", "web-0", "--all"],
    ["delete", "pods", "-f", "app.yaml"],
    ["cordon"],
    ["types"],
    ["types", "pods", "--all"],
    ["top", "pods"],
    ["completion", "csh"],
])  # fmt: skip
def test_a_wrong_usage_changes_nothing(service: CliService, arguments: list[str]) -> None:
    result = run(service, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert not sent(service, write_pb2.DeleteRequest)


RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")


def test_wait_ends_when_the_condition_is_met(service: CliService) -> None:
    conditions = [{"type": "Ready", "status": "True"}]
    ready = pod("web-0", namespace="default", status={"conditions": conditions})
    service.play(of_watch(0, "t1", RESET, event(watch_pb2.EVENT_TYPE_ADDED, ready, "7")), Silence())
    result = run(service, "wait", "pod/web-0", "--for", "condition=Ready")
    assert result.output == "pod/web-0 condition met\n"
    assert result.exit_code == 0


def test_wait_reports_the_last_state(service: CliService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._sync._event_stream.TOLERANCE_SECONDS", math.inf)
    timeout = Failure(grpc.StatusCode.DEADLINE_EXCEEDED)
    service.play(of_watch(0, "t1", RESET, SYNCED), timeout)
    result = run(service, "wait", "pod/web-0", "--for", "condition=Ready", "--timeout", "9s")
    assert result.exit_code == 1
    assert " default/web-0: not met within 9 seconds; last state: " in result.output


def test_scale_and_restart_patch_each_object(service: CliService) -> None:
    result = run(service, "scale", "deploy", "web", "api", "--replicas", "3")
    assert result.stdout == "deployment.apps/web scaled\ndeployment.apps/api scaled\n"
    result = run(service, "restart", "deployment/web", "--dry-run", "-n", "shop")
    assert result.stdout == "deployment.apps/web restarted (server dry run)\n"
    patches = sent(service, write_pb2.PatchRequest)
    assert [(each.namespace, each.name) for each in patches] == [
        ("default", "web"),
        ("default", "api"),
        ("shop", "web"),
    ]
    assert [each.dry_run for each in patches] == [False, False, True]


def test_nodes_are_cordoned_in_any_form_of_their_names(service: CliService) -> None:
    assert run(service, "cordon", "n1", "node/n2").stdout == "node/n1 cordoned\nnode/n2 cordoned\n"
    assert run(service, "uncordon", "n1").stdout == "node/n1 uncordoned\n"
    patches = [json.loads(each.data) for each in sent(service, write_pb2.PatchRequest)]
    assert [each["spec"]["unschedulable"] for each in patches] == [True, True, None]


def test_the_other_objects_are_changed_if_one_fails(service: CliService) -> None:
    failure = Failure(grpc.StatusCode.NOT_FOUND, 'nodes "n1" not found', request_id="42")
    service.refusals.append(failure)
    result = run(service, "cordon", "n1", "n2")
    assert result.stdout == "node/n2 cordoned\n"
    assert result.stderr == 'error: nodes "n1" not found (request_id: 42)\n'
    assert result.exit_code == 1


SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"


def test_apply_applies_files_folders_and_stdin(service: CliService, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(f"{SETTINGS}---\n{NODE}")
    (tmp_path / "a.json").write_text(json.dumps(yaml.safe_load(SETTINGS)))
    (tmp_path / "README.md").write_text("not applied")
    arguments = ["apply", "-f", str(tmp_path), "-f", "-", "-n", "shop"]
    result = run(service, *arguments, input=SETTINGS)
    assert result.stdout == "pod/settings created\n" * 2 + "pod/n1 created\npod/settings created\n"
    patches = sent(service, write_pb2.PatchRequest)
    assert [(each.resource, each.namespace) for each in patches] == [
        ("ConfigMap.v1.", "shop"),
        ("ConfigMap.v1.", "shop"),
        ("Node.v1.", ""),
        ("ConfigMap.v1.", "shop"),
    ]
    assert {each.field_manager for each in patches} == {"kubeconnect"}


def test_apply_prints_the_result(service: CliService) -> None:
    result = run(service, "apply", "-f", "-", "--dry-run=server", "-o", "yaml", input=SETTINGS)
    assert yaml.safe_load(result.stdout)["metadata"]["name"] == "settings"
    assert sent(service, write_pb2.PatchRequest)[0].dry_run


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "error: stdin: document 2 (line 5): it is not YAML"),
        ("kind: Pod\n", "error: stdin: document 2 (line 5): an object to apply needs apiVersion"),
        (
            SETTINGS.replace("{name", "{namespace: other, name"),
            "error: ConfigMap other/settings: its namespace is not shop, which -n names",
        ),
    ],
)
def test_apply_checks_all_objects_first(service: CliService, text: str, problem: str) -> None:
    result = run(service, "-n", "shop", "apply", "-f", "-", input=f"{SETTINGS}---\n{text}")
    assert problem in result.stderr
    assert result.exit_code == 1
    assert sent(service, write_pb2.PatchRequest) == []


def test_delete_deletes_by_names_selectors_and_files(service: CliService) -> None:
    service.left = False
    assert run(service, "delete", "pod", "web-0", "api").stdout == (
        "pod/web-0 deleted\npod/api deleted\n"
    )
    result = run(service, "delete", "po", "-l", "app=web", "--grace-period", "0")
    assert result.stdout == "pod/web-0 deleted\npod/api deleted\n"
    result = run(service, "delete", "-f", "-", "--cascade", "orphan", input=SETTINGS)
    assert result.stdout == "configmap/settings deleted\n"
    requests = sent(service, write_pb2.DeleteRequest)
    assert [each.name for each in requests] == ["web-0", "api", "web-0", "api", "settings"]
    assert [each.preconditions.uid for each in requests[1:3]] == ["", "uid-web-0"]
    assert [each.HasField("grace_period_seconds") for each in requests[1:3]] == [False, True]


def test_delete_waits_until_the_object_is_gone(service: CliService) -> None:
    service.play(of_watch(0, "t1", RESET, SYNCED), Silence())
    assert run(service, "delete", "pod/web-0").stdout == "pod/web-0 deleted\n"
    assert sent(service, watch_pb2.WatchManyRequest)
    before = len(sent(service, watch_pb2.WatchManyRequest))
    run(service, "delete", "pod/web-0", "--no-wait")
    assert len(sent(service, watch_pb2.WatchManyRequest)) == before


def test_delete_of_nothing(service: CliService) -> None:
    service.objects = []
    result = run(service, "delete", "pods", "--all")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "No resources found.\n", 0)


def test_can_i_has_an_exit_code(service: CliService) -> None:
    allowed = run(service, "can-i", "get", "deploy/web", "--subresource", "scale")
    assert (allowed.output, allowed.exit_code) == ("yes\n", 0)
    denied = run(service, "can-i", "delete", "nodes")
    assert (denied.stdout, denied.exit_code) == ("no\n", 1)
    assert run(service, "can-i", "delete", "pods", "-A", "-q").output == ""
    checks = [each.checks[0] for each in sent(service, access_pb.CheckAccessRequest)]
    assert [each.namespace for each in checks] == ["default", "", ""]
    assert (checks[0].name, checks[0].subresource) == ("web", "scale")


def test_who_am_i(service: CliService) -> None:
    assert run(service, "who-am-i").output.splitlines() == [
        "ATTRIBUTE       VALUE",
        "Username        ann",
        "Groups          readers",
        "Extra: scopes   a, b",
    ]
    assert run(service, "who-am-i", "-o", "name").output == "ann\n"
    assert yaml.safe_load(run(service, "who-am-i", "-o", "yaml").output)["username"] == "ann"


def test_api_resources(service: CliService) -> None:
    assert run(service, "api-resources", "--namespaced", "false").output.splitlines() == [
        "NAME    SHORTNAMES   APIVERSION   NAMESPACED   KIND",
        "nodes   no           v1           false        Node",
    ]
    names = run(service, "api-resources", "-o", "name", "--verbs", "list,watch").output
    assert names.split() == ["configmaps", "nodes", "pods", "deployments.apps"]
    assert run(service, "api-resources", "-o", "name", "--verbs", "escalate").output == ""


def test_types(service: CliService) -> None:
    assert "class Pod(TypedDict, total=False):" in run(service, "types", "pods").output
    assert "class Pod(TypedDict):" in run(service, "types", "--all", "--total").output


def test_top_counts_the_pods_of_each_node(service: CliService) -> None:
    phases = [("n1", "Running"), ("n1", "Pending"), ("n2", "Running"), (None, "Pending")]
    service.objects = [
        pod(f"web-{i}", spec={"nodeName": node}, status={"phase": phase})
        for i, (node, phase) in enumerate(phases)
    ]
    lines = [line.split() for line in run(service, "top").output.splitlines()]
    assert lines[0] == ["NODE", "PODS", "RUNNING", "PENDING", "SUCCEEDED", "FAILED", "UNKNOWN"]
    assert [line[:4] for line in lines[1:4]] == [
        ["n1", "2", "1", "1"],
        ["<none>", "1", "0", "1"],
        ["n2", "1", "1", "0"],
    ]
    assert ["web-3", "0", "0", "0", "0", "0", "0"] in lines  # a node without pods
    namespaces = run(service, "top", "namespaces", "-n", "demo", "--limit", "1").output
    assert namespaces.splitlines()[1].split()[:2] == ["demo", "4"]
    requests = sent(service, read_pb2.CountRequest)
    assert [each.namespace for each in requests] == ["", "demo"]


def test_each_command_has_the_help_of_the_list() -> None:
    ctx = program.make_context("kubeconnect", [], resilient_parsing=True)
    for commands in SECTIONS.values():
        for name, (_, text) in commands.items():
            command = program.get_command(ctx, name)
            assert command is not None
            assert command.name == name
            assert (command.help or "").startswith(text.removesuffix(".")), name


@pytest.mark.parametrize(
    ("failure", "prints"),
    [
        (
            Failure(grpc.StatusCode.UNAUTHENTICATED, "no credentials"),
            "error: no credentials\nhint: pass --token-file or --context, or set "
            "KUBECONNECT_TOKEN_FILE or KUBECONNECT_CONTEXT\n",
        ),
        (
            Failure(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "too many calls",
                Status(reason="TooManyRequests", retry_after_seconds=100),
            ),
            "error: too many calls\nhint: try again in 100 seconds\n",
        ),
        (
            Failure(grpc.StatusCode.UNAVAILABLE, "no kubelet", Status(reason="ServiceUnavailable")),
            "error: no kubelet\n",
        ),
    ],
)
def test_errors_have_hints(service: CliService, failure: Failure, prints: str) -> None:
    service.failure = failure
    result = run(service, "who-am-i")
    assert (result.stdout, result.stderr, result.exit_code) == ("", prints, 1)


def test_without_an_address_the_places_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("KUBECONNECT_ADDRESS", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    result = CliRunner().invoke(program, ["get", "pods"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: no address of the service found: ")
    assert result.stderr.endswith("\nhint: pass --address, or set KUBECONNECT_ADDRESS\n")


def test_causes_are_printed(service: CliService) -> None:
    causes = [StatusCause(field="spec.replicas", message="must be positive")]
    status = Status(reason="Invalid", causes=causes)
    service.failure = Failure(grpc.StatusCode.INVALID_ARGUMENT, "web is invalid", status)
    result = run(service, "cordon", "n1")
    assert result.stderr == "error: web is invalid\n  spec.replicas: must be positive\n"


def test_verbose_logs_where_the_settings_are_from(service: CliService) -> None:
    result = run(service, "-v", "who-am-i")
    assert f"debug: connect: address {service.address} from the arguments" in result.stderr
