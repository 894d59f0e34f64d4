"""The containers of pods whose logs are printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubeconnect import Object
from kubeconnect._cli._terminal import shown

_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


@dataclass(frozen=True)
class LogOptions:
    """Which lines are printed, and how."""

    container: str | None = None
    all_containers: bool = False
    previous: bool = False
    tail: int | None = None
    since: int | None = None
    timestamps: bool = False
    prefix: bool = False
    namespaces: bool = False


@dataclass(frozen=True)
class Container:
    """A container of a pod."""

    namespace: str
    pod: str
    uid: str
    name: str
    run: str = ""
    """The ID of its present run, or its last one; empty if it has not started."""


def prefix_of(container: Container, options: LogOptions | None = None) -> str:
    """Return the prefix of the lines of a container, as kubectl's. It has the namespace if there
    are several.
    """
    namespace = container.namespace if options and options.namespaces else "pod"
    return shown(f"[{namespace}/{container.pod}/{container.name}] ")


def containers_of(pod: Object, options: LogOptions) -> list[Container]:
    """Return the containers of a pod whose logs are wanted."""
    spec, status = pod["spec"], pod.to_dict().get("status") or {}
    init = [each["name"] for each in spec.get("initContainers") or ()]
    names = [each["name"] for each in spec["containers"]]
    runs = {
        each["name"]: _run(each)
        for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        for each in status.get(kind) or ()
    }
    if options.all_containers:
        wanted = init + names
    elif options.container:
        wanted = [options.container]
    else:
        wanted = [_default(pod, names)]
    return [
        Container(pod.namespace or "", pod.name, pod.uid, name, runs.get(name, ""))
        for name in wanted
    ]


def _default(pod: Object, names: list[str]) -> str:
    name = pod.annotations.get(_DEFAULT_CONTAINER, "")
    return name if name in names else names[0]


def _run(status: dict[str, Any]) -> str:
    """Return the ID of a container that has started."""
    if not {"running", "terminated"} & (status.get("state") or {}).keys():
        return ""
    return str(status.get("containerID") or f"run {status.get('restartCount', 0)}")
