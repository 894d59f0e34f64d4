"""kr8s, whose objects are dicts that are read as attributes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import kr8s
from task import CHANGED, Cluster, Pod, run


def connect(cluster: Cluster) -> kr8s.Api:
    """Return the client."""
    return kr8s.api(kubeconfig=cluster.kubeconfig)


def list_pods(client: kr8s.Api, namespace: str) -> Iterator[Pod]:
    """Read each pod of a list."""
    return map(read, client.get("pods", namespace=namespace))


def watch_pods(client: kr8s.Api, namespace: str) -> Iterator[Pod]:
    """Read each pod of the first snapshot, and then each changed pod."""
    for _, pod in client.watch("pods", namespace=namespace):
        yield read(pod)


def read(pod: Any) -> Pod:
    """Read a pod."""
    images = [container.image for container in pod.spec.containers]
    change = pod.annotations[CHANGED]
    return Pod(pod.name, change, pod.spec.nodeName, pod.status.phase, images)


if __name__ == "__main__":
    run(sys.modules[__name__])
