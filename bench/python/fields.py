"""kubeconnect with Objects that have only the fields that are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from objects import connect, read
from task import CHANGED, Pod, run

from kubeconnect import Client

__all__ = ["connect", "list_pods", "watch_pods"]

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


if __name__ == "__main__":
    run(sys.modules[__name__])
