"""A program that applies a Deployment, restarts and scales it, and waits for each rollout.

python rollout.py threads|asyncio ADDRESS NAMESPACE

It prints each step as a line of JSON.
"""

from __future__ import annotations

from typing import Any

from steps import report, run

import kubeconnect
from kubeconnect import Client
from kubeconnect.aio import AsyncClient

MANIFESTS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  mode: "0644"
--- # the workload
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: main
          image: example.com/web:1
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: NAME
rules: []
"""
NEVER = "object.status.readyReplicas == 7"


def by_threads(address: str, namespace: str) -> None:
    """Make all steps."""
    with Client(address) as client:
        text = MANIFESTS.replace("NAME", namespace)
        applied = client.apply_yaml(text, namespace=namespace)
        report("applied", kinds=[each.object["kind"] for each in applied])
        web = client.wait_for("deployments", "web", "rollout", namespace=namespace)
        report("complete", **pods(web))
        client.restart("deployments", "web", namespace=namespace)
        web = client.wait_for("deployments", "web", "rollout", namespace=namespace)
        report("restarted", **pods(web))
        client.scale("deployments", "web", 3, namespace=namespace)
        web = client.wait_for("deployments", "web", "rollout", namespace=namespace)
        report("scaled", **pods(web))
        victim = client.list("pods", namespace=namespace, label_selector="app=web")[0]
        client.evict(victim.name, namespace=namespace, uid=victim.uid)
        client.wait_for("pods", victim.name, "deleted", namespace=namespace)
        report("evicted", uid=victim.uid)
        try:
            client.wait_for("deployments", "web", NEVER, namespace=namespace, timeout=1)
        except kubeconnect.WaitTimeout as error:
            report("waited", message=error.message)
        client.delete("clusterroles", namespace)
        client.wait_for("clusterroles", namespace, "deleted")
        report("allowed", delete=client.can_i("delete", "pods", namespace=namespace))


async def by_asyncio(address: str, namespace: str) -> None:
    """Make all steps with asyncio."""
    async with AsyncClient(address) as client:
        text = MANIFESTS.replace("NAME", namespace)
        applied = await client.apply_yaml(text, namespace=namespace)
        report("applied", kinds=[each.object["kind"] for each in applied])
        web = await client.wait_for("deployments", "web", "rollout", namespace=namespace)
        report("complete", **pods(web))
        await client.restart("deployments", "web", namespace=namespace)
        web = await client.wait_for("deployments", "web", "rollout", namespace=namespace)
        report("restarted", **pods(web))
        await client.scale("deployments", "web", 3, namespace=namespace)
        web = await client.wait_for("deployments", "web", "rollout", namespace=namespace)
        report("scaled", **pods(web))
        victim = (await client.list("pods", namespace=namespace, label_selector="app=web"))[0]
        await client.evict(victim.name, namespace=namespace, uid=victim.uid)
        await client.wait_for("pods", victim.name, "deleted", namespace=namespace)
        report("evicted", uid=victim.uid)
        try:
            await client.wait_for("deployments", "web", NEVER, namespace=namespace, timeout=1)
        except kubeconnect.WaitTimeout as error:
            report("waited", message=error.message)
        await client.delete("clusterroles", namespace)
        await client.wait_for("clusterroles", namespace, "deleted")
        report("allowed", delete=await client.can_i("delete", "pods", namespace=namespace))


def pods(deployment: kubeconnect.Object) -> dict[str, Any]:
    """Return the reported fields of a Deployment."""
    status = deployment["status"]
    return {
        "available": status.get("availableReplicas", 0),
        "updated": status.get("updatedReplicas", 0),
        "generation": deployment.metadata["generation"],
        "observed": status["observedGeneration"],
    }


if __name__ == "__main__":
    run(by_threads, by_asyncio)
