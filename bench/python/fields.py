"""kubeconnect with Objects that have only the fields that are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from objects import connect, read
from task import CHANGED, OnPod, Pod, StoredPods, run

from kubeconnect import Client

__all__ = ["connect", "list_pods", "store_pods", "watch_pods"]

FIELDS = [
    f"metadata.annotations['{CHANGED}']",
    "spec.nodeName",
    "spec.containers[*].image",
    "status.phase",
]


def list_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of a list."""
    return map(read, client.list("pods", namespace=namespace, fields=FIELDS))


def watch_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of the first snapshot, and then each changed pod."""
    for event in client.watch("pods", namespace=namespace, fields=FIELDS):
        if event.object:
            yield read(event.object)


@contextmanager
def store_pods(
    client: Client, namespace: str, on_add: OnPod, on_change: OnPod
) -> Iterator[StoredPods]:
    """Follow the pods in a store that has only the fields."""
    with client.store("pods", namespace=namespace, fields=FIELDS) as pods:
        pods.subscribe(
            on_add=lambda pod: on_add(pod["spec"]["nodeName"]),
            on_update=lambda _, pod: on_change(pod["spec"]["nodeName"]),
        )
        yield lambda: map(read, pods)


if __name__ == "__main__":
    run(sys.modules[__name__], store_pods)
