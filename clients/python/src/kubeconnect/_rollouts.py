"""The state of rollouts, judged as ``kubectl rollout status`` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"


def rollout_problem(object: Mapping[str, Any]) -> str | None:
    """Return why the rollout of a Deployment, DaemonSet or StatefulSet is not complete; None if it
    is.

    Raises ValueError for other kinds, and if the pods are not replaced by the workload itself.
    """
    kind = object.get("kind")
    if kind not in _PROBLEMS:
        raise ValueError(f"only Deployments, DaemonSets and StatefulSets have rollouts, not {kind}")
    spec, status = object.get("spec") or {}, object.get("status") or {}
    strategy = (spec.get("updateStrategy") or {}).get("type") or "RollingUpdate"
    if strategy != "RollingUpdate":
        raise ValueError(f"a {kind} with the update strategy {strategy} has no rollout")
    if not _is_observed(object):
        return "the change is not observed yet"
    return _PROBLEMS[kind](spec, status)


def rollout_failure(object: Mapping[str, Any]) -> str | None:
    """Return why a rollout of a Deployment has failed; None if it may still complete."""
    if object.get("kind") != "Deployment" or not _is_observed(object):
        return None
    for condition in (object.get("status") or {}).get("conditions") or ():
        if condition.get("reason") == PROGRESS_DEADLINE_EXCEEDED:
            return "it exceeded its progress deadline"
    return None


def _is_observed(object: Mapping[str, Any]) -> bool:
    """Return whether the status is of the current generation."""
    generation = (object.get("metadata") or {}).get("generation", 0)
    return bool((object.get("status") or {}).get("observedGeneration", 0) >= generation)


def _deployment(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str | None:
    wanted, updated = spec.get("replicas", 1), status.get("updatedReplicas", 0)
    if updated < wanted:
        return f"{updated} of {wanted} replicas are updated"
    if (old := status.get("replicas", 0) - updated) > 0:
        return f"{old} old replicas have not ended"
    available = status.get("availableReplicas", 0)
    if available < updated:
        return f"{available} of {updated} updated replicas are available"
    return None


def _daemon_set(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str | None:
    wanted, updated = (
        status.get("desiredNumberScheduled", 0),
        status.get("updatedNumberScheduled", 0),
    )
    if updated < wanted:
        return f"{updated} of {wanted} pods are updated"
    available = status.get("numberAvailable", 0)
    if available < wanted:
        return f"{available} of {wanted} updated pods are available"
    return None


def _stateful_set(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str | None:
    wanted, ready = spec.get("replicas", 1), status.get("readyReplicas", 0)
    if ready < wanted:
        return f"{ready} of {wanted} pods are ready"
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    if partition := rolling.get("partition", 0):
        updated = status.get("updatedReplicas", 0)
        if updated < (changed := max(wanted - partition, 0)):
            return f"{updated} of {changed} pods of the partition are updated"
        return None
    if status.get("updateRevision") != status.get("currentRevision"):
        return f"{status.get('updatedReplicas', 0)} of {wanted} pods are updated"
    return None


_PROBLEMS = {"Deployment": _deployment, "DaemonSet": _daemon_set, "StatefulSet": _stateful_set}
