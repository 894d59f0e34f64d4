"""The official client: kubernetes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes import config
from kubernetes.client import CoreV1Api
from kubernetes.informer import ADDED, MODIFIED, SharedInformer
from kubernetes.watch import Watch
from task import CHANGED, Cluster, OnPod, Pod, StoredPods, run


def connect(cluster: Cluster) -> CoreV1Api:
    """Return the client."""
    return CoreV1Api(config.new_client_from_config(cluster.kubeconfig))


def list_pods(client: CoreV1Api, namespace: str) -> Iterator[Pod]:
    """Read each pod of a list."""
    return map(read, client.list_namespaced_pod(namespace).items)


def watch_pods(client: CoreV1Api, namespace: str) -> Iterator[Pod]:
    """Read each pod of the first snapshot, and then each changed pod."""
    for event in Watch().stream(client.list_namespaced_pod, namespace):
        yield read(event["object"])


@contextmanager
def store_pods(
    client: CoreV1Api, namespace: str, on_add: OnPod, on_change: OnPod
) -> Iterator[StoredPods]:
    """Follow the pods in an informer."""
    informer = SharedInformer(client.list_namespaced_pod, namespace=namespace)
    informer.add_event_handler(ADDED, lambda pod: on_add(pod.spec.node_name))
    informer.add_event_handler(MODIFIED, lambda pod: on_change(pod.spec.node_name))
    informer.start()
    yield lambda: map(
        read, informer.cache.list()
    )  # stop() waits for the next event, so the process ends with the thread


def read(pod: Any) -> Pod:
    """Read a pod."""
    images = [container.image for container in pod.spec.containers]
    change = pod.metadata.annotations[CHANGED]
    return Pod(pod.metadata.name, change, pod.spec.node_name, pod.status.phase, images)


if __name__ == "__main__":
    run(sys.modules[__name__], store_pods)
