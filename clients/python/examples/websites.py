"""An operator that runs a Deployment for each Website of a namespace.

kubectl apply -f websites.yaml
python websites.py http://127.0.0.1:8080 demo

It owns the Deployments, repairs them when they are changed, and reports the condition "Available".
It also keeps a registry of all sites, the ConfigMap "website-registry", which stands for something
outside of the cluster: a finalizer removes a site from it before the Website is deleted. Several of
these processes may run. One of them works, and another one takes over when it ends.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import kubeconnect
from kubeconnect import Controller, LeaderElector, Object, ObjectKey, PatchType, WatchSpec

WEBSITES = "websites.stable.example.com"
DEPLOYMENTS = "deployments.apps"
REGISTRY = "website-registry"
FINALIZER = "stable.example.com/registry"


class Operator:
    """The operator of one namespace."""

    def __init__(
        self, client: kubeconnect.Client, namespace: str, elector: LeaderElector | None = None
    ) -> None:
        """Create the operator, which does nothing before ``run``."""
        self.client = client
        self.namespace = namespace
        self.controller = Controller(
            client,
            WEBSITES,
            namespace=namespace,
            owns=[DEPLOYMENTS],
            watches=[(WatchSpec("configmaps", namespace=namespace, name=REGISTRY), self.all_sites)],
            workers=4,
            elector=elector,
        )
        self.controller.reconcile(self.reconcile)
        self.controller.finalize(FINALIZER)(self.finalize)

    def run(self) -> None:
        """Work until SIGTERM or Ctrl-C."""
        self.controller.run()

    def all_sites(self, registry: Object) -> list[tuple[str | None, str]]:
        """Return the keys of all sites, because the registry has changed."""
        return [(site.namespace, site.name) for site in self.controller.store()]

    def reconcile(self, key: ObjectKey) -> None:
        """Make the cluster as one Website specifies."""
        site = self.controller.store().get(*key)
        if site is not None:  # the Deployment of a deleted site is deleted too
            self.register(site.name, site["spec"]["image"])
            self.report(site, self.deploy(site))

    def finalize(self, site: Object) -> None:
        """Remove a site from the registry. After that the controller removes the finalizer."""
        self.register(site.name, None)

    def register(self, name: str, image: str | None) -> None:
        """Add a site to the registry, or remove it. The store may not have seen an earlier write
        yet, so the registry is written in any case.
        """
        body = {"data": {name: image}}
        try:
            self.client.patch(
                "configmaps", REGISTRY, body, namespace=self.namespace, type=PatchType.MERGE
            )
        except kubeconnect.NotFound:
            if image is not None:
                metadata = {"name": REGISTRY}
                self.client.create(
                    "configmaps", {"metadata": metadata, **body}, namespace=self.namespace
                )

    def deploy(self, site: Object) -> int:
        """Create or repair the site's Deployment, and return the number of ready replicas.

        The API server does not write a Deployment that is as desired already.
        """
        result = self.client.apply(deployment_of(site), field_manager="websites", force=True)
        return int(result.object.get("status", {}).get("readyReplicas", 0))

    def report(self, site: Object, ready: int) -> None:
        """Write the status, if it has changed."""
        before = site.get("status", {})
        status = status_of(site, ready, before)
        if status != before:
            self.client.patch(
                WEBSITES,
                site.name,
                {"status": status},
                namespace=site.namespace,
                subresource="status",
                type=PatchType.MERGE,
                resource_version=site.resource_version,
            )


def deployment_of(site: Object) -> dict[str, Any]:
    """Return the fields of the Deployment that the operator owns."""
    labels = {"website": site.name}
    container = {"name": "web", "image": site["spec"]["image"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": site.name,
            "namespace": site.namespace,
            "ownerReferences": [kubeconnect.owner_reference(site)],
        },
        "spec": {
            "replicas": site["spec"]["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def status_of(site: Object, ready: int, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status of a site."""
    wanted = site["spec"]["replicas"]
    available = "True" if ready >= wanted else "False"
    generation = site["metadata"]["generation"]
    condition = {
        "type": "Available",
        "status": available,
        "reason": "Ready" if available == "True" else "NotReady",
        "message": f"{ready} of {wanted} replicas are ready",
        "observedGeneration": generation,
        "lastTransitionTime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    for earlier in before.get("conditions", []):
        if earlier["type"] == "Available" and earlier["status"] == available:
            condition["lastTransitionTime"] = earlier["lastTransitionTime"]
    return {"observedGeneration": generation, "readyReplicas": ready, "conditions": [condition]}


def main() -> None:
    """Run the operator until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(description="runs a Deployment for each Website")
    parser.add_argument("address", help="the service, http://host:port")
    parser.add_argument("namespace", help="the namespace of the Websites")
    parser.add_argument("--identity", help="the name of this process as a leader")
    parser.add_argument("--lease-duration", type=float, default=15.0, help="in seconds")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with kubeconnect.Client(arguments.address) as client:
        elector = LeaderElector(
            client,
            "websites",
            namespace=arguments.namespace,
            identity=arguments.identity,
            lease_duration=arguments.lease_duration,
        )
        Operator(client, arguments.namespace, elector).run()


if __name__ == "__main__":
    try:
        main()
    except kubeconnect.KubeconnectError as error:
        sys.exit(f"{type(error).__name__}: {error}")
