"""Tests of ``kubeconnect get``."""

import json
from collections.abc import Iterator

import grpc
import pytest
import yaml

from kubeconnect.v1 import consistency_pb2, read_pb2, table_pb2
from tests.cli_service import CliService, run, serve_cli
from tests.fake import Failure, pod


@pytest.fixture
def service() -> Iterator[CliService]:
    with serve_cli() as service:
        service.objects = [
            pod("web-0", namespace="default", spec={"nodeName": "n1"}),
            pod("web-1", namespace="default"),
            pod("api", namespace="shop"),
        ]
        yield service


def tables(service: CliService) -> list[table_pb2.GetTableRequest]:
    return [each for each in service.requests if isinstance(each, table_pb2.GetTableRequest)]


def lists(service: CliService) -> list[read_pb2.ListRequest]:
    return [each for each in service.requests if isinstance(each, read_pb2.ListRequest)]


TABLE = """\
NAME    STATUS
web-0   Running
web-1   Running
"""
ALL_NAMESPACES = """\
NAMESPACE   NAME    STATUS
default     web-0   Running
default     web-1   Running
shop        api     Running
"""
WIDE = """\
NAME   STATUS    NOMINATED NODE
api    Running   <none>
"""


@pytest.mark.parametrize(
    ("arguments", "prints"),
    [
        (["pods"], TABLE),
        (["po"], TABLE),
        (["Pod.v1."], TABLE),
        (["pods", "-n", "shop", "-o", "wide"], WIDE),
        (["pods", "-A"], ALL_NAMESPACES),
        (["pods", "--no-headers"], TABLE.partition("\n")[2]),
        (["pods", "--limit", "1"], "NAME    STATUS\nweb-0   Running\n"),
        (["pod", "web-1", "web-0"], "NAME    STATUS\nweb-1   Running\nweb-0   Running\n"),
        (["pod/web-1", "pod/web-0"], "NAME    STATUS\nweb-1   Running\nweb-0   Running\n"),
    ],
)
def test_prints_the_table_of_the_api_server(
    service: CliService, arguments: list[str], prints: str
) -> None:
    result = run(service, "get", *arguments)
    assert result.output == prints
    assert result.exit_code == 0


def test_the_namespace_may_precede_the_command(service: CliService) -> None:
    run(service, "-n", "shop", "get", "pods")
    run(service, "-n", "shop", "get", "pods", "-n", "web")
    assert [each.namespace for each in tables(service)] == ["shop", "web"]


def test_the_default_namespace_is_that_of_the_environment(
    service: CliService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONNECT_NAMESPACE", "shop")
    run(service, "get", "pods")
    assert [each.namespace for each in tables(service)] == ["shop"]


def test_a_resource_without_namespaces_has_none(service: CliService) -> None:
    run(service, "get", "nodes", "-n", "shop")
    assert [each.namespace for each in tables(service)] == [""]


def test_several_resources_are_printed_with_their_kinds(service: CliService) -> None:
    expected = [
        "NAME        STATUS",
        "pod/web-0   Running",
        "pod/web-1   Running",
        "",
        "NAME                    STATUS",
        "deployment.apps/web-0   Running",
        "deployment.apps/web-1   Running",
    ]
    assert run(service, "get", "pods,deploy").output.splitlines() == expected
    assert run(service, "get", "all").output.splitlines() == expected


def test_a_filter_and_an_order_select_rows_of_the_table(service: CliService) -> None:
    result = run(service, "get", "pods", "--filter", "x", "--sort-by", ".metadata.name desc", "-A")
    assert result.stdout.splitlines() == [
        "NAMESPACE   NAME    STATUS",
        "default     web-1   Running",
        "default     web-0   Running",
        "shop        api     Running",
    ]
    assert result.stderr == "warning: 2 left out\n"
    (request,) = lists(service)
    assert (request.filter, request.order_by) == ("x", ".metadata.name desc")
    assert request.metadata_only


def test_many_matches_are_found_in_the_table_of_all(service: CliService) -> None:
    service.objects = [pod(f"web-{i:02}", namespace="default") for i in range(30)]
    result = run(service, "get", "pods", "--sort-by", ".metadata.name desc", "--limit", "20")
    names = [line.split()[0] for line in result.output.splitlines()[1:]]
    assert names == [f"web-{i:02}" for i in reversed(range(10, 30))]
    assert len(tables(service)) == 1


def test_few_matches_are_read_by_their_names(service: CliService) -> None:
    service.objects = [pod(f"web-{i:02}", namespace="default") for i in range(30)]
    run(service, "get", "pods", "--sort-by", ".metadata.name desc", "--limit", "2")
    selectors = [each.field_selector for each in tables(service)]
    assert selectors == ["metadata.name=web-29", "metadata.name=web-28"]


def test_the_table_covers_the_namespaces_that_the_caller_may_list(service: CliService) -> None:
    service.table_failure = Failure(grpc.StatusCode.PERMISSION_DENIED, "not in all namespaces")
    assert run(service, "get", "pods", "-A").exit_code == 1
    service.namespaces = ["default", "shop"]
    result = run(service, "get", "pods", "-A")
    assert result.stdout == ALL_NAMESPACES
    assert result.stderr == "warning: only of some namespaces\n"


def test_nothing_found_is_said_on_stderr(service: CliService) -> None:
    result = run(service, "get", "pods", "-n", "empty")
    assert (result.stdout, result.exit_code) == ("", 0)
    assert result.stderr == "No resources found in namespace empty.\n"
    service.objects = []
    assert run(service, "get", "pods", "-A").stderr == "No resources found.\n"


def test_a_name_that_does_not_exist_is_an_error_but_the_others_are_printed(
    service: CliService,
) -> None:
    for output in ("table", "name"):
        result = run(service, "get", "pods", "nobody", "web-1", "-o", output)
        assert "web-1" in result.stdout
        assert result.stderr == 'error: pods "nobody" not found\n'
        assert result.exit_code == 1
    ignored = run(service, "get", "pods", "nobody", "--ignore-not-found")
    assert (ignored.stdout, ignored.exit_code) == ("", 0)


def test_one_object_is_printed_alone(service: CliService) -> None:
    pod = json.loads(run(service, "get", "pod", "web-0", "-o", "json").output)
    assert pod["kind"] == "Pod"
    assert pod["apiVersion"] == "v1"
    assert yaml.safe_load(run(service, "get", "pod/web-0", "-o", "yaml").output) == pod


def test_several_objects_are_a_list(service: CliService) -> None:
    expected = [json.loads(each.json) | {"apiVersion": "v1"} for each in service.objects]
    listed = json.loads(run(service, "get", "pods", "-o", "json").output)
    assert listed == {"apiVersion": "v1", "kind": "List", "items": expected}
    assert yaml.safe_load(run(service, "get", "pods", "-o", "yaml").output) == listed
    lines = run(service, "get", "pods", "-o", "jsonl").output.splitlines()
    assert [json.loads(line) for line in lines] == expected
    service.objects = []
    for output in ("json", "yaml"):
        empty = yaml.safe_load(run(service, "get", "pods", "-o", output).output)
        assert empty == {"apiVersion": "v1", "kind": "List", "items": []}


def test_yaml_has_long_texts_as_blocks(service: CliService) -> None:
    text = "first\n" + "long " * 50 + "end\n"
    service.objects = [pod("web", namespace="default", data={"a": text, "yes": "on"})]
    printed = run(service, "get", "pod", "web", "-o", "yaml").output
    assert "  a: |\n    first\n" in printed
    assert "  'yes': 'on'\n" in printed
    assert yaml.safe_load(printed)["data"] == {"a": text, "yes": "on"}


def test_names_are_read_without_content(service: CliService) -> None:
    assert run(service, "get", "pods", "-o", "name", "--limit", "2").output == (
        "pod/web-0\npod/web-1\n"
    )
    (request,) = lists(service)
    assert request.fields == ["metadata.name", "metadata.resourceVersion"]


def test_custom_columns_are_read_as_fields(service: CliService) -> None:
    columns = "custom-columns=NAME:.metadata.name,NODE:{.spec.nodeName}"
    assert run(service, "get", "pods", "-o", columns).output == (
        "NAME    NODE\nweb-0   n1\nweb-1   <none>\napi     <none>\n"
    )
    (request,) = lists(service)
    assert request.fields == [".metadata.name", "{.spec.nodeName}"]
    assert run(service, "get", "pod/web-0", "-o", columns, "--no-headers").output == "web-0   n1\n"


def test_the_values_of_a_custom_column_are_joined(service: CliService) -> None:
    containers = [{"image": "a", "ports": [1]}, {"image": "b", "ports": [2, 3]}]
    service.objects = [pod("web", namespace="default", spec={"containers": containers})]
    columns = "custom-columns=A:spec.containers[*].image,B:spec.containers[*].ports[*],C:.metadata"
    assert run(service, "get", "pods", "-o", columns, "--no-headers").output.startswith(
        'a,b   1,2,3   {"name": "web"'
    )


def test_objects_are_selected_by_the_service(service: CliService) -> None:
    options = ["-l", "app=web", "--field-selector", "a=b", "--filter", "true"]
    run(service, "get", "pods", "-o", "json", *options, "--consistency", "latest")
    (request,) = lists(service)
    assert request.label_selector == "app=web"
    assert request.field_selector == "a=b"
    assert request.filter == "true"
    assert request.consistency == consistency_pb2.CONSISTENCY_LATEST


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["pods/"],
        ["pods", "web/0"],
        ["pods", "web-0", "-l", "app=web"],
        ["pods", "-w", "--limit", "3"],
        ["pods,nodes", "-w"],
        ["pods", "-o", "xml"],
        ["pods", "-o", "custom-columns="],
        ["pods", "-o", "custom-columns=NAME"],
        ["pods", "-o", "custom-columns=NAME:.metadata.name,"],
        ["pods", "-o", "custom-columns=FIRST:.spec.containers[0].name"],
        ["pods", "--limit", "0"],
        ["pods", "--request-timeout", "soon"],
    ],
)
def test_a_wrong_usage_has_the_exit_code_2(service: CliService, arguments: list[str]) -> None:
    result = run(service, "get", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: ")
    assert tables(service) == lists(service) == []


def test_cells_do_not_control_the_terminal(service: CliService) -> None:
    service.statuses = {"web-0": "\x1b[31mred", "web-1": "two\nlines"}
    lines = run(service, "get", "pods").output.splitlines()
    assert lines[1:] == ["web-0   \\x1b[31mred", "web-1   two..."]
