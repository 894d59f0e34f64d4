"""kubeconnect with Objects, which decode their content on first access."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from task import CHANGED, Cluster, OnPod, Pod, StoredPods, run

from kubeconnect import Client, Object


def connect(cluster: Cluster) -> Client:
    """Return the client."""
    return Client(cluster.address, ca_file=cluster.ca_file)


def list_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of a list."""
    return map(read, client.list("pods", namespace=namespace))


def watch_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of the first snapshot, and then each changed pod."""
    for event in client.watch("pods", namespace=namespace):
        if event.object:
            yield read(event.object)


@contextmanager
def store_pods(
    client: Client, namespace: str, on_add: OnPod, on_change: OnPod
) -> Iterator[StoredPods]:
    """Follow the pods in a store."""
    with client.store("pods", namespace=namespace) as pods:
        pods.subscribe(
            on_add=lambda pod: on_add(pod["spec"]["nodeName"]),
            on_update=lambda _, pod: on_change(pod["spec"]["nodeName"]),
        )
        yield lambda: map(read, pods)


def read(pod: Object) -> Pod:
    """Read a pod."""
    spec = pod["spec"]
    images = [container["image"] for container in spec["containers"]]
    return Pod(pod.name, pod.annotations[CHANGED], spec["nodeName"], pod["status"]["phase"], images)


if __name__ == "__main__":
    run(sys.modules[__name__], store_pods)
