"""A program that keeps, reads and writes messages of built-in kinds.

python typedobjects.py threads|asyncio ADDRESS NAMESPACE

The namespace has a Deployment "web", and other objects that the program updates. It prints each
step as a line of JSON.
"""

from __future__ import annotations

from typing import Any

from steps import report, run

from kubeconnect import Client, EventType, WatchSpec
from kubeconnect.aio import AsyncClient
from kubeconnect.k8s import KindMessage
from kubeconnect.k8s.apps.v1 import Deployment, DeploymentSpec
from kubeconnect.k8s.core.v1 import (
    ConfigMap,
    Container,
    Node,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Secret,
    Service,
    ServicePort,
    ServiceSpec,
)
from kubeconnect.k8s.helpers import to_int_or_str, to_int_or_string
from kubeconnect.k8s.meta.v1 import LabelSelector, ObjectMeta
from kubeconnect.k8s.policy.v1 import PodDisruptionBudget

KINDS: list[type[KindMessage]] = [ConfigMap, Deployment, PodDisruptionBudget, Secret, Service]
"""The kinds that the program reads and updates without a change."""


def by_threads(address: str, namespace: str) -> None:
    """Make all steps with threads."""
    with Client(address) as client:
        web = client.wait_for(Deployment, "web", "rollout", namespace=namespace)
        with client.store(Pod, namespace=namespace, indexes={"node": "spec.nodeName"}) as pods:
            pods.wait_synced(timeout=60)
            placed = {
                pod.spec.nodeName: names(pods.by_index("node", pod.spec.nodeName)) for pod in pods
            }
            report(
                "stored",
                versions=versions(pods.list()),
                placed=placed,
                ready=web.status.readyReplicas,
            )
        found: dict[str, list[str]] = {"pods": [], "nodes": []}
        with client.watch_many(
            {"pods": WatchSpec(Pod, namespace=namespace), "nodes": WatchSpec(Node)}
        ) as events:
            for key, event in events:
                if event.type is EventType.ADDED:
                    found[key].append(event.object.metadata.name)
                if events.synced:
                    break
        report("watched", **found)
        unchanged: dict[str, list[str]] = {}
        for cls in KINDS:
            for read in client.list(cls, namespace=namespace, consistency="latest"):
                result = client.update(read).object
                unchanged[f"{cls.__name__}/{read.metadata.name}"] = difference(read, result)
        report("updated", unchanged=unchanged)
        client.create(service(), namespace=namespace)
        changed = client.get(Service, "typed", namespace=namespace, consistency="latest")
        change(changed)
        client.update(changed)
        report("changed", port=to_int_or_str(changed.spec.ports[0].targetPort))
        client.create(deployment(), namespace=namespace)
        client.apply(part(), namespace=namespace, field_manager="part", force=True)
        report("applied")


async def by_asyncio(address: str, namespace: str) -> None:
    """Make all steps with asyncio."""
    async with AsyncClient(address) as client:
        web = await client.wait_for(Deployment, "web", "rollout", namespace=namespace)
        async with client.store(
            Pod, namespace=namespace, indexes={"node": "spec.nodeName"}
        ) as pods:
            await pods.wait_synced(timeout=60)
            placed = {
                pod.spec.nodeName: names(pods.by_index("node", pod.spec.nodeName)) for pod in pods
            }
            report(
                "stored",
                versions=versions(pods.list()),
                placed=placed,
                ready=web.status.readyReplicas,
            )
        found: dict[str, list[str]] = {"pods": [], "nodes": []}
        async with client.watch_many(
            {"pods": WatchSpec(Pod, namespace=namespace), "nodes": WatchSpec(Node)}
        ) as events:
            async for key, event in events:
                if event.type is EventType.ADDED:
                    found[key].append(event.object.metadata.name)
                if events.synced:
                    break
        report("watched", **found)
        unchanged: dict[str, list[str]] = {}
        for cls in KINDS:
            async for read in await client.list(cls, namespace=namespace, consistency="latest"):
                result = (await client.update(read)).object
                unchanged[f"{cls.__name__}/{read.metadata.name}"] = difference(read, result)
        report("updated", unchanged=unchanged)
        await client.create(service(), namespace=namespace)
        changed = await client.get(Service, "typed", namespace=namespace, consistency="latest")
        change(changed)
        await client.update(changed)
        report("changed", port=to_int_or_str(changed.spec.ports[0].targetPort))
        await client.create(deployment(), namespace=namespace)
        await client.apply(part(), namespace=namespace, field_manager="part", force=True)
        report("applied")


def names(pods: list[Pod]) -> list[str]:
    """Return the names of pods."""
    return sorted(pod.metadata.name for pod in pods)


def versions(pods: list[Pod]) -> dict[str, str]:
    """Return the versions of pods, by name."""
    return {pod.metadata.name: pod.metadata.resourceVersion for pod in pods}


def difference(before: Any, after: Any) -> list[str]:
    """Return the version before and after, if a message has changed."""
    after.metadata.ClearField("managedFields")
    before.metadata.ClearField("managedFields")
    if before == after:
        return []
    return [str(before), str(after)]


def service() -> Service:
    """Return a Service."""
    ports = [ServicePort(name="http", port=80, targetPort=to_int_or_string("web"))]
    return Service(
        metadata=ObjectMeta(name="typed", labels={"gone": "yes", "kept": ""}),
        spec=ServiceSpec(
            ports=ports,
            selector={"app": "web"},
            allocateLoadBalancerNodePorts=False,
            publishNotReadyAddresses=True,
            type="LoadBalancer",
            internalTrafficPolicy="Local",
        ),
    )


def change(web: Service) -> None:
    """Set some fields to their zero value, and unset others."""
    del web.metadata.labels["gone"]
    web.spec.publishNotReadyAddresses = False
    web.spec.ports[0].targetPort.CopyFrom(to_int_or_string(8080))
    web.spec.selector.clear()
    web.spec.ClearField("internalTrafficPolicy")


def deployment() -> Deployment:
    """Return a Deployment."""
    pods = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "part"}),
        spec=PodSpec(containers=[Container(name="main", image="example.com/web:1")]),
    )
    selector = LabelSelector(matchLabels={"app": "part"})
    return Deployment(
        metadata=ObjectMeta(name="part"),
        spec=DeploymentSpec(replicas=1, paused=True, selector=selector, template=pods),
    )


def part() -> Deployment:
    """Return a part of this Deployment, with fields that are set to their zero value."""
    return Deployment(
        metadata=ObjectMeta(name="part", annotations={"part": ""}),
        spec=DeploymentSpec(replicas=0, minReadySeconds=0, paused=False),
    )


if __name__ == "__main__":
    run(by_threads, by_asyncio)
