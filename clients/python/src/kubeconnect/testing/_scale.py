"""The subresource "scale"."""

from __future__ import annotations

from typing import Any

from kubeconnect._errors import Internal
from kubeconnect.testing._cluster import Content
from kubeconnect.testing._failures import failure, invalid
from kubeconnect.testing._resources import ResourceType


def read_scale(resource: ResourceType, content: Content) -> Content:
    """Return the Scale of a workload. Raises Internal for a custom one without replicas."""
    if not resource.built_in and "replicas" not in (content.get("spec") or {}):
        problem = 'the spec replicas field ".spec.replicas" does not exist'
        raise failure(Internal, f"Internal error occurred: {problem}")
    return scale_of(content)


def scale_of(content: Content) -> Content:
    """Return the Scale of a workload."""
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    metadata = {name: content["metadata"][name] for name in names if name in content["metadata"]}
    spec, status = content.get("spec") or {}, content.get("status") or {}
    scale_status: dict[str, Any] = {"replicas": status.get("replicas", 0)}
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    if labels:
        scale_status["selector"] = ",".join(f"{key}={labels[key]}" for key in sorted(labels))
    replicas = spec.get("replicas", 1)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": scale_status,
    }


def with_scale(resource: ResourceType, content: Content, scale: Content) -> Content:
    """Return a workload with the replicas of its Scale."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if isinstance(replicas, bool) or not isinstance(replicas, int) or replicas < 0:
        problem = f"Invalid value: {replicas}: must be greater than or equal to 0"
        name = content["metadata"]["name"]
        raise invalid(resource, name, "spec.replicas", "FieldValueInvalid", problem)
    metadata = {**content["metadata"]}
    given = scale.get("metadata") or {}
    metadata.update({key: given[key] for key in ("uid", "resourceVersion") if given.get(key)})
    return {
        **content,
        "metadata": metadata,
        "spec": {**(content.get("spec") or {}), "replicas": replicas},
    }
