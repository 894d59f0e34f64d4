"""Tests of the metrics of controllers."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from kubeconnect import Client, Controller, LeaderElector, ObjectKey
from kubeconnect import _metrics as metrics
from tests.cluster_service import ClusterService, serve_cluster
from tests.running import Running

CRONTABS = "crontabs.stable.example.com"


@pytest.fixture
def service() -> Iterator[ClusterService]:
    with serve_cluster() as service:
        yield service


def test_measures_a_controller(service: ClusterService) -> None:
    registry = pytest.importorskip("prometheus_client").REGISTRY

    def value(metric: str, **labels: str) -> float | None:
        found = registry.get_sample_value(metric, labels)
        return None if found is None else float(found)

    def of_controller(metric: str, **labels: str) -> float | None:
        return value(f"controller_runtime_{metric}", controller="measured", **labels)

    def of_queue(metric: str) -> float | None:
        return value(f"workqueue_{metric}", name="measured", controller="measured")

    service.store("crontabs", "a")
    service.store("crontabs", "b")
    with Client(service.address) as client:
        elector = LeaderElector(client, "measured", namespace="demo")
        controller = Controller(
            client, CRONTABS, workers=2, name="measured", elector=elector, base_delay=0.001
        )
        calls: list[str] = []

        @controller.reconcile
        def reconcile(key: ObjectKey) -> float | None:
            calls.append(key.name)
            if calls.count(key.name) == 1:
                if key.name == "a":
                    raise RuntimeError("oops")
                return 0.001
            return None

        assert value("leader_election_master_status", name="measured") == 0
        with Running(controller) as run:
            run.until(lambda: of_controller("reconcile_total", result="success") == 2)
            assert value("leader_election_master_status", name="measured") == 1
            assert of_controller("max_concurrent_reconciles") == 2
            assert of_controller("active_workers") == 0
            assert of_queue("depth") == 0
        assert of_controller("reconcile_total", result="error") == 1
        assert of_controller("reconcile_total", result="requeue_after") == 1
        assert of_controller("reconcile_errors_total") == 1
        assert of_controller("reconcile_time_seconds_count") == 4
        assert of_queue("adds_total") == 4
        assert of_queue("retries_total") == 2
        assert of_queue("queue_duration_seconds_count") == 4
        assert of_queue("work_duration_seconds_count") == 4
        assert of_queue("unfinished_work_seconds") == 0
        assert of_queue("longest_running_processor_seconds") == 0
        assert value("leader_election_master_status", name="measured") == 0


def test_measures_nothing_without_prometheus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.setattr(metrics, "_families", metrics._families.__wrapped__)
    unmeasured = metrics.controller_metrics("unmeasured")
    assert unmeasured.queue is None
    unmeasured.begin()
    unmeasured.end("success", 1.0)
    unmeasured.stop()
    metrics.leader_metric("unmeasured")(True)
