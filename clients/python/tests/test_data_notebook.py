"""Tests of the notebook in examples. An end-to-end test executes it in a kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest

from kubeconnect.v1 import object_pb2, read_pb2
from tests.fake import FakeService, pod, serve

HERE = Path(__file__).parents[1]
NOTEBOOK = json.loads((HERE / "examples/cluster.ipynb").read_text())
CELLS = [each for each in NOTEBOOK["cells"] if each["cell_type"] == "code"]
PROGRAM = "\n\n".join("".join(each["source"]) for each in CELLS)


class PodsAndNodes(FakeService):
    """Serves pods, and for each other resource two nodes."""

    nodes: tuple[object_pb2.Object, ...] = ()

    def List(
        self, request: read_pb2.ListRequest, context: grpc.ServicerContext
    ) -> read_pb2.ListResponse:
        if request.resource == "pods":
            return super().List(request, context)
        nodes = object_pb2.Resource(version="v1", kind="Node", plural="nodes")
        return read_pb2.ListResponse(resource=nodes, objects=self.nodes, resource_version="9")


def node(name: str) -> object_pb2.Object:
    allocatable = {"cpu": "2", "memory": "1Gi"}
    return pod(name, namespace="", status={"allocatable": allocatable})


def busy_pod(name: str, node: str | None, *requests: str, restarts: int = 0) -> object_pb2.Object:
    containers = [
        {"image": f"image-{index}", "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}}}
        for index, cpu in enumerate(requests)
    ]
    statuses = [{"restartCount": restarts}] if node else []
    return pod(
        name,
        spec={"containers": containers, **({"nodeName": node} if node else {})},
        status={"phase": "Running" if node else "Pending", "containerStatuses": statuses},
    )


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The variables of the notebook after its last cell."""
    service = PodsAndNodes(
        objects=[
            busy_pod("a", "n1", "500m", "1"),
            busy_pod("b", "n1", "0.25", restarts=3),
            busy_pod("c", None, "100m"),
        ]
    )
    service.nodes = (node("n1"), node("n2"))
    variables: dict[str, Any] = {}
    with serve(service=service) as served:
        monkeypatch.setenv("KUBECONNECT_ADDRESS", served.address)
        exec(PROGRAM, variables)
    return variables


def test_the_notebook_is_committed_without_outputs() -> None:
    assert all(each["outputs"] == [] for each in CELLS)
    assert all(each["execution_count"] is None for each in CELLS)


def test_the_notebook_shows_what_runs_where(results: dict[str, Any]) -> None:
    assert results["placement"].to_dict("index") == {
        "n1": {"Pending": 0, "Running": 2},
        "not scheduled": {"Pending": 1, "Running": 0},
    }
    assert results["images"].to_dict() == {"image-0": 3, "image-1": 1}
    assert results["restarts"].set_index("name")["restarts"].to_dict() == {"b": 3}


def test_the_notebook_compares_requests_with_nodes(results: dict[str, Any]) -> None:
    per_node = results["per_node"]
    assert per_node["cpu"].to_dict() == {"n1": 1.75, "n2": 0.0}
    assert per_node["cpu_fraction"].to_dict() == {"n1": 0.875, "n2": 0.0}
    assert per_node["memory_fraction"].to_dict() == {"n1": 0.375, "n2": 0.0}
    (demo,) = results["per_namespace"].reset_index().to_dict("records")
    assert (demo["namespace"], demo["pods"], demo["cpu"]) == ("demo", 3, 1.85)


def test_the_notebook_passes_mypy_strict(tmp_path: Path) -> None:
    program = tmp_path / "notebook.py"
    program.write_text(PROGRAM)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=pyproject.toml"]
    checked = subprocess.run([*mypy, program], cwd=HERE, capture_output=True, text=True)
    assert checked.stdout.splitlines()[-1].startswith("Success"), checked.stdout + checked.stderr
