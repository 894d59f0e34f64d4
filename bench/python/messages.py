"""kubeconnect with protobuf messages, whose fields are typed."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from objects import connect
from task import CHANGED, Pod, run

from kubeconnect import Client
from kubeconnect.k8s.core.v1 import Pod as PodMessage

__all__ = ["connect", "list_pods", "watch_pods"]


def list_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of a list."""
    return map(read, client.list(PodMessage, namespace=namespace))


def watch_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of the first snapshot, and then each changed pod."""
    for event in client.watch(PodMessage, namespace=namespace):
        if event.object:
            yield read(event.object)


def read(pod: PodMessage) -> Pod:
    """Read a pod."""
    images = [container.image for container in pod.spec.containers]
    change = pod.metadata.annotations[CHANGED]
    return Pod(pod.metadata.name, change, pod.spec.nodeName, pod.status.phase, images)


if __name__ == "__main__":
    run(sys.modules[__name__])
