"""kubeconnect with protobuf messages, whose fields are typed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from objects import connect
from task import CHANGED, OnPod, Pod, StoredPods, run

from kubeconnect import Client
from kubeconnect.k8s.core.v1 import Pod as PodMessage

__all__ = ["connect", "list_pods", "store_pods", "watch_pods"]


def list_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of a list."""
    return map(read, client.list(PodMessage, namespace=namespace))


def watch_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of the first snapshot, and then each changed pod."""
    for event in client.watch(PodMessage, namespace=namespace):
        if event.object:
            yield read(event.object)


@contextmanager
def store_pods(
    client: Client, namespace: str, on_add: OnPod, on_change: OnPod
) -> Iterator[StoredPods]:
    """Follow the pods in a store."""
    with client.store(PodMessage, namespace=namespace) as pods:
        pods.subscribe(
            on_add=lambda pod: on_add(pod.spec.nodeName),
            on_update=lambda _, pod: on_change(pod.spec.nodeName),
        )
        yield lambda: map(read, pods)


def read(pod: PodMessage) -> Pod:
    """Read a pod."""
    images = [container.image for container in pod.spec.containers]
    change = pod.metadata.annotations[CHANGED]
    return Pod(pod.metadata.name, change, pod.spec.nodeName, pod.status.phase, images)


if __name__ == "__main__":
    run(sys.modules[__name__], store_pods)
