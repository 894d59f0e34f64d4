"""lightkube, whose objects have typed fields."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lightkube import Client, KubeConfig
from lightkube.resources.core_v1 import Pod as PodResource
from task import CHANGED, Cluster, Pod, run


def connect(cluster: Cluster) -> Client:
    """Return the client."""
    return Client(config=KubeConfig.from_file(cluster.kubeconfig))


def list_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of a list."""
    return map(read, client.list(PodResource, namespace=namespace))


def watch_pods(client: Client, namespace: str) -> Iterator[Pod]:
    """Read each pod of the first snapshot, and then each changed pod."""
    for _, pod in client.watch(PodResource, namespace=namespace):
        yield read(pod)


def read(pod: PodResource) -> Pod:
    """Read a pod."""
    images = [container.image for container in pod.spec.containers]
    change = pod.metadata.annotations[CHANGED]
    return Pod(pod.metadata.name, change, pod.spec.nodeName, pod.status.phase, images)


if __name__ == "__main__":
    run(sys.modules[__name__])
