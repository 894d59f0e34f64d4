"""Tests of the state of rollouts."""

from __future__ import annotations

from typing import Any

import pytest

from kubeconnect._rollouts import rollout_failure, rollout_problem

STALLED = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]


def workload(kind: str, spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    status = {"observedGeneration": 2, **status}
    return {"kind": kind, "metadata": {"generation": 2}, "spec": spec, "status": status}


def deployment(**status: Any) -> dict[str, Any]:
    return workload("Deployment", {"replicas": 3, "strategy": {"type": "Recreate"}}, **status)


def daemon_set(**status: Any) -> dict[str, Any]:
    return workload("DaemonSet", {}, desiredNumberScheduled=3, **status)


def stateful_set(partition: int = 0, **status: Any) -> dict[str, Any]:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    return workload("StatefulSet", {"replicas": 3, "updateStrategy": rolling}, **status)


@pytest.mark.parametrize(
    ("object", "problem"),
    [
        (deployment(observedGeneration=1), "the change is not observed yet"),
        (deployment(), "0 of 3 replicas are updated"),
        (deployment(updatedReplicas=2), "2 of 3 replicas are updated"),
        (deployment(updatedReplicas=3, replicas=4), "1 old replicas have not ended"),
        (
            deployment(updatedReplicas=3, replicas=3, availableReplicas=2),
            "2 of 3 updated replicas are available",
        ),
        (deployment(updatedReplicas=3, replicas=3, availableReplicas=3), None),
        (workload("Deployment", {"replicas": 0}), None),
        (daemon_set(updatedNumberScheduled=1), "1 of 3 pods are updated"),
        (
            daemon_set(updatedNumberScheduled=3, numberAvailable=1),
            "1 of 3 updated pods are available",
        ),
        (daemon_set(updatedNumberScheduled=3, numberAvailable=3), None),
        (stateful_set(readyReplicas=2), "2 of 3 pods are ready"),
        (
            stateful_set(
                readyReplicas=3, updatedReplicas=1, currentRevision="a", updateRevision="b"
            ),
            "1 of 3 pods are updated",
        ),
        (stateful_set(readyReplicas=3, currentRevision="b", updateRevision="b"), None),
        (
            stateful_set(partition=1, readyReplicas=3, updatedReplicas=1),
            "1 of 2 pods of the partition are updated",
        ),
        (stateful_set(partition=1, readyReplicas=3, updatedReplicas=2), None),
    ],
)
def test_a_rollout_is_complete_when_all_pods_are_new_and_available(
    object: dict[str, Any], problem: str | None
) -> None:
    assert rollout_problem(object) == problem


@pytest.mark.parametrize(
    ("object", "failure"),
    [
        (deployment(conditions=STALLED), "it exceeded its progress deadline"),
        (deployment(), None),
        (deployment(observedGeneration=1, conditions=STALLED), None),
        (stateful_set(conditions=STALLED), None),
    ],
)
def test_a_deployment_that_makes_no_progress_has_failed(
    object: dict[str, Any], failure: str | None
) -> None:
    assert rollout_failure(object) == failure


@pytest.mark.parametrize(
    ("object", "problem"),
    [
        (workload("Pod", {}), "only Deployments, DaemonSets and StatefulSets .*, not Pod"),
        (
            workload("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}),
            "a DaemonSet with the update strategy OnDelete has no rollout",
        ),
    ],
)
def test_other_workloads_have_no_rollouts(object: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        rollout_problem(object)
