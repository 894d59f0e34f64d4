"""The operator of websites.py, written with kopf and the official client.

kubectl apply -f websites.yaml
kopf run --namespace demo websites_kopf.py

It needs kopf and kubernetes. One of these processes may run: kopf has no leader election.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import kopf
from kubernetes.client import AppsV1Api, CoreV1Api, CustomObjectsApi
from kubernetes.client.exceptions import ApiException

WEBSITES = ("stable.example.com", "v1", "websites")
DEPLOYMENTS = ("apps", "v1", "deployments")
REGISTRY = "website-registry"
FINALIZER = "stable.example.com/registry"

# Handlers of different objects run at the same time, and each of them may write for one site.
locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Set the finalizer, and the delay after which a failed handler is called again."""
    settings.persistence.finalizer = FINALIZER
    settings.execution.default_backoff = 5


@kopf.index(*WEBSITES)
def sites(name: str, body: kopf.Body, **_: Any) -> dict[str, kopf.Body]:
    """Return the entry of a site in the index of all sites."""
    return {name: body}


@kopf.on.create(*WEBSITES)
@kopf.on.resume(*WEBSITES)
@kopf.on.update(*WEBSITES, field="spec")
@kopf.timer(*WEBSITES, interval=30)  # handlers of events are not called again if they fail
def site_changed(name: str, sites: kopf.Index[str, kopf.Body], **_: Any) -> None:
    """Make the cluster as the Website specifies."""
    reconcile(name, sites)


@kopf.on.delete(*WEBSITES)
def site_deleted(name: str, namespace: str, **_: Any) -> None:
    """Remove the site from the registry. After that kopf removes the finalizer."""
    with locks[name]:
        register(namespace, name, None)


@kopf.on.event(*DEPLOYMENTS, labels={"website": kopf.PRESENT})
def deployment_changed(
    labels: Mapping[str, str], sites: kopf.Index[str, kopf.Body], **_: Any
) -> None:
    """Repair the Deployment, and report its status."""
    reconcile(labels["website"], sites)


@kopf.on.event("", "v1", "configmaps", field="metadata.name", value=REGISTRY)
def registry_changed(sites: kopf.Index[str, kopf.Body], **_: Any) -> None:
    """Repair the registry."""
    for name in list(sites):
        reconcile(name, sites)


def reconcile(name: str, sites: kopf.Index[str, kopf.Body]) -> None:
    """Make the cluster as one Website specifies."""
    with locks[name]:
        for site in sites.get(name, []):
            if not site.metadata.deletion_timestamp:
                register(site.metadata.namespace, name, site.spec["image"])
                report(site, deploy(site))


def register(namespace: str, name: str, image: str | None) -> None:
    """Add a site to the registry, or remove it."""
    body = {"data": {name: image}}
    try:
        CoreV1Api().patch_namespaced_config_map(REGISTRY, namespace, body)
    except ApiException as error:
        if error.status != 404:
            raise
        if image is not None:
            metadata = {"name": REGISTRY}
            CoreV1Api().create_namespaced_config_map(namespace, {"metadata": metadata, **body})


def deploy(site: kopf.Body) -> int:
    """Create or repair the site's Deployment, and return the number of ready replicas."""
    deployment = AppsV1Api().patch_namespaced_deployment(
        site.metadata.name,
        site.metadata.namespace,
        deployment_of(site),
        field_manager="websites",
        force=True,
        _content_type="application/apply-patch+yaml",
    )
    return deployment.status.ready_replicas or 0


def report(site: kopf.Body, ready: int) -> None:
    """Write the status, if it has changed."""
    before = site.status
    status = status_of(site, ready, before)
    if status != before:
        CustomObjectsApi().patch_namespaced_custom_object_status(
            *WEBSITES[:2],
            site.metadata.namespace,
            WEBSITES[2],
            site.metadata.name,
            {"status": status},
        )


def deployment_of(site: kopf.Body) -> dict[str, Any]:
    """Return the fields of the Deployment that the operator owns."""
    labels = {"website": site.metadata.name}
    container = {"name": "web", "image": site.spec["image"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": site.metadata.name,
            "labels": labels,
            "ownerReferences": [kopf.build_owner_reference(site)],
        },
        "spec": {
            "replicas": site.spec["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def status_of(site: kopf.Body, ready: int, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status of a site."""
    wanted = site.spec["replicas"]
    available = "True" if ready >= wanted else "False"
    generation = site.metadata["generation"]
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
