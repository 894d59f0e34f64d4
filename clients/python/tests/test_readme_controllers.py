"""Tests that run the programs of the README about controllers."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from kubeconnect import Forbidden
from kubeconnect.v1 import write_pb2
from tests.cluster_service import WEBSITES, ClusterService, owner, serve_cluster
from tests.fake import Failure, FakeService
from tests.sync.waiting import eventually

README = Path(__file__).parents[1] / "README.md"
SECTION = README.read_text().split("\n## Controller\n")[1].split("\n## ")[0]
CONTROLLER, LEADER, QUEUE = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


def run(program: str, service: FakeService) -> None:
    exec(program.replace("http://127.0.0.1:8080", service.address), {})


def test_a_controller_reconciles_until_its_permission_is_revoked(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    printed: list[str] = []

    def has_printed(text: str) -> bool:
        printed.append(capsys.readouterr().out)
        return text in "".join(printed)

    def change(service: ClusterService) -> None:
        eventually(lambda: has_printed("demo/web has 0 deployments\n"))
        owned = (owner("web", kind=WEBSITES.kind),)
        service.store("deployments", "web", owners=owned)
        eventually(lambda: has_printed("demo/web has 1 deployments\n"))
        service.end_watches(Failure(grpc.StatusCode.PERMISSION_DENIED, "not allowed any more"))

    with serve_cluster() as service, ThreadPoolExecutor(1) as threads:
        service.store("websites", "web", spec={"image": "nginx", "replicas": 3})
        service.store("websites", "big", spec={"image": "nginx", "replicas": 3000})
        changes = threads.submit(change, service)
        with pytest.raises(Forbidden):
            run(CONTROLLER, service)
        changes.result(10)
        applied = [each for each in service.requests if isinstance(each, write_pb2.PatchRequest)]
    assert json.loads(applied[0].data)["metadata"] == {
        "name": "web",
        "ownerReferences": [
            {**owner("web", kind="Website"), "blockOwnerDeletion": True},
        ],
    }
    assert "attempt 1 of demo/big failed: ValueError: demo/big has too many replicas" in caplog.text


def test_a_leader_reconciles(capsys: pytest.CaptureFixture[str]) -> None:
    with serve_cluster() as service:
        service.store("websites", "web")
        run(LEADER, service)
        assert service.spec["holderIdentity"] == ""
    assert capsys.readouterr().out == "leader: True\nreconcile demo/web\n"


def test_a_work_queue_is_worked_off(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    run(QUEUE, service)
    assert capsys.readouterr().out == "flaky later web\n"
