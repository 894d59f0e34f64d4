"""The official client without its models: it returns the JSON, which the program decodes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from kubernetes.client import CoreV1Api
from kubernetes.watch import Watch
from official import connect
from task import CHANGED, Pod, run

__all__ = ["connect", "list_pods", "watch_pods"]


def list_pods(client: CoreV1Api, namespace: str) -> Iterator[Pod]:
    """Read each pod of a list."""
    response = client.list_namespaced_pod(namespace, _preload_content=False)
    return map(read, json.loads(response.data)["items"])


def watch_pods(client: CoreV1Api, namespace: str) -> Iterator[Pod]:
    """Read each pod of the first snapshot, and then each changed pod."""
    for event in Watch().stream(client.list_namespaced_pod, namespace, deserialize=False):
        yield read(event["object"])


def read(pod: Any) -> Pod:
    """Read a pod."""
    metadata, spec = pod["metadata"], pod["spec"]
    images = [container["image"] for container in spec["containers"]]
    change = metadata["annotations"][CHANGED]
    return Pod(metadata["name"], change, spec["nodeName"], pod["status"]["phase"], images)


if __name__ == "__main__":
    run(sys.modules[__name__])
