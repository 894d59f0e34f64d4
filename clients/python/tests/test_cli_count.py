"""Tests of ``kubeconnect count`` with aggregates, and of live counts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import grpc
import pytest
import yaml
from click.testing import CliRunner, Result

from kubeconnect._cli._program import program
from kubeconnect.testing import FakeService
from tests.cli_service import CliService, run, serve_cli
from tests.fake import Failure
from tests.live import counts, group

ENDED = Failure(grpc.StatusCode.PERMISSION_DENIED, "the end")


def pod(name: str, node: str | None, *cpus: str) -> dict[str, object]:
    containers = [
        {"name": f"c{index}", "resources": {"requests": {"cpu": cpu}}}
        for index, cpu in enumerate(cpus)
    ]
    spec = {"nodeName": node, "containers": containers} if node else {"containers": containers}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def fake() -> Iterator[FakeService]:
    pods = [pod("a", "n1", "500m", "1"), pod("b", "n1", "2"), pod("c", None, "250m")]
    with FakeService(pods) as fake:
        yield fake


def count(fake: FakeService, *arguments: str) -> Result:
    return CliRunner().invoke(
        program, ["count", "pods", *arguments], env={"KUBECONNECT_ADDRESS": fake.address}
    )


def test_prints_aggregates_of_each_group(fake: FakeService) -> None:
    result = count(fake, "--by", "node", "--sum", "cpu", "--avg", "cpu", "--max", "cpu")
    assert result.output.splitlines() == [
        "NODE     COUNT   SUM(CPU)   AVG(CPU)             MAX(CPU)",
        "n1       2       3.5        1.1666666666666667   2",
        "<none>   1       0.25       0.25                 250m",
    ]


def test_prints_aggregates_of_all_objects(fake: FakeService) -> None:
    result = count(fake, "--sum", "cpu", "--min", "metadata.name")
    assert result.output.splitlines() == ["COUNT   SUM(CPU)   MIN(NAME)", "3       3.75       a"]


def test_prints_aggregates_as_json_and_yaml(fake: FakeService) -> None:
    options = ["--by", "node", "--limit", "1", "--sum", "spec.containers[*].resources.requests.cpu"]
    name = "sum(spec.containers[*].resources.requests.cpu)"
    expected = {
        "total": 3,
        "aggregates": {name: 3.75},
        "groups": [{"values": ["n1"], "count": 2, "aggregates": {name: 3.5}}],
    }
    assert json.loads(count(fake, "-o", "json", *options).output) == expected
    assert yaml.safe_load(count(fake, "-o", "yaml", *options).output) == expected


def test_warns_of_a_path_without_values(fake: FakeService) -> None:
    result = count(fake, "--by", "spec.nodname", "--sum", "spec.cpus")
    assert result.stdout.splitlines() == [
        "NODNAME   COUNT   SUM(CPUS)",
        "<none>    3       <none>",
    ]
    assert result.stderr.splitlines() == [
        "warning: no object has a value at spec.nodname",
        "warning: sum(spec.cpus): no object has a value",
    ]
    assert count(fake, "-n", "kube-system", "--by", "spec.nodname").stderr == ""


def test_warns_of_values_that_are_left_out(fake: FakeService) -> None:
    result = count(fake, "--sum", "metadata.name")
    assert result.stderr == (
        "warning: sum(metadata.name): 3 values are no numbers, and are left out\n"
    )


@pytest.fixture
def service() -> Iterator[CliService]:
    with serve_cli() as service:
        yield service


def test_a_live_count_prints_each_change(service: CliService) -> None:
    service.play(
        counts("5", group("n1", 2), group("n2", 1), reset=True),
        counts("6", group("n2", 4), total=6),
        ENDED,
    )
    result = run(service, "count", "pods", "-A", "--by", "node", "--watch", "--interval", "500ms")
    assert result.stdout.splitlines() == [
        "NODE   COUNT",
        "n1     2",
        "n2     1",
        "",
        "NODE   COUNT",
        "n2     4",
        "n1     2",
    ]
    assert result.exit_code == 1
    assert service.requests[-1].min_interval.ToMilliseconds() == 500


def test_a_live_count_prints_a_line_of_json_for_each_change(service: CliService) -> None:
    service.play(counts("5", group("n1", 3), reset=True), counts("6", total=4), ENDED)
    result = run(service, "count", "pods", "-A", "-w", "-o", "json")
    assert list(map(json.loads, result.stdout.splitlines())) == [{"total": 3}, {"total": 4}]


def test_a_live_count_limits_its_groups(service: CliService) -> None:
    service.play(counts("5", group("n1", 2), group("n2", 1), reset=True), ENDED)
    result = run(service, "count", "pods", "-A", "-w", "--by", "node", "--limit", "1")
    assert result.stdout == "NODE   COUNT\nn1     2\n"
    assert result.stderr.startswith("... and 1 more groups\n")
