"""A program with threads that reads, watches and changes objects of a cluster.

python threads.py ADDRESS NAMESPACE [CA_FILE]

It prints each step as a line of JSON.
"""

from __future__ import annotations

import sys
from typing import Any

from steps import report

import kubeconnect
from kubeconnect import Client, EventType, PatchType

REPLICAS = 5


def main(address: str, namespace: str, ca_file: str | None = None) -> None:
    """Run all steps."""
    with Client(address, ca_file=ca_file) as client:
        list_pods(client, namespace)
        get_settings(client, namespace)
        watch_scaling(client, namespace)
        keep_notes(client, namespace)
        ask_for_nobody(client, namespace)
        scale_below_nothing(client, namespace)
        watch_nothing(client)


def list_pods(client: Client, namespace: str) -> None:
    """List the pods of one application, two per page."""
    pods = client.list("po", namespace=namespace, label_selector="app=web", page_size=2)
    names = [pod.name for pod in pods]
    phases = sorted({pod["status"]["phase"] for pod in pods})
    report("listed", names=names, total=pods.total, phases=phases)


def get_settings(client: Client, namespace: str) -> None:
    """Get one object."""
    settings = client.get("configmaps", "settings", namespace=namespace)
    report("got", uid=settings.uid, version=settings.resource_version, data=settings["data"])


def watch_scaling(client: Client, namespace: str) -> None:
    """Scale a Deployment when the snapshot is complete, and wait for its pods."""
    pods: dict[str, kubeconnect.Object] = {}
    with client.watch("pods", namespace=namespace, label_selector="app=web") as events:
        for event in events:
            if event.type is EventType.RESET:
                pods.clear()
            elif event.type is EventType.DELETED and event.object:
                pods.pop(event.object.name, None)
            elif event.object:
                pods[event.object.name] = event.object
            elif event.type is EventType.SYNCED:
                report("before", names=sorted(pods))
                scale(client, namespace)
            if len(pods) == REPLICAS:
                report("after", names=sorted(pods))
                return


def scale(client: Client, namespace: str) -> None:
    """Patch a Deployment."""
    result = client.patch(
        "deployments.apps",
        "web",
        {"spec": {"replicas": REPLICAS}},
        namespace=namespace,
        type=PatchType.MERGE,
        field_manager="a-python-program",
    )
    spec = result.object["spec"]
    report("patched", version=result.object.resource_version, replicas=spec["replicas"])


def keep_notes(client: Client, namespace: str) -> None:
    """Create an object, update it, update it from an outdated version, and delete it."""
    notes = {"metadata": {"name": "notes"}, "data": {"text": "first"}}
    first = client.create("configmaps", notes, namespace=namespace).object
    report("created", uid=first.uid, version=first.resource_version, data=first["data"])
    changed = {**first, "data": {"text": "second"}}
    second = client.update("configmaps", changed).object
    report("updated", uid=second.uid, version=second.resource_version, data=second["data"])
    try:
        client.update("configmaps", {**first, "data": {"text": "third"}})
    except kubeconnect.Conflict as error:
        report("outdated", **described(error))
    left = client.delete("configmaps", "notes", namespace=namespace, uid=first.uid)
    report("deleted", gone=left.object is None)


def ask_for_nobody(client: Client, namespace: str) -> None:
    """Get an object that does not exist."""
    try:
        client.get("configmaps", "nobody", namespace=namespace)
    except kubeconnect.NotFound as error:
        report("missing", **described(error))


def scale_below_nothing(client: Client, namespace: str) -> None:
    """Patch with an invalid value."""
    patch = {"spec": {"replicas": -1}}
    try:
        client.patch("deploy", "web", patch, namespace=namespace, type=PatchType.MERGE)
    except kubeconnect.Invalid as error:
        report("refused", **described(error))


def watch_nothing(client: Client) -> None:
    """Watch a resource that the cluster does not serve."""
    try:
        for _ in client.watch("nothings"):
            pass
    except kubeconnect.NotFound as error:
        report("unwatched", **described(error))


def described(error: kubeconnect.KubeconnectError) -> dict[str, Any]:
    """Return the reported fields of an error."""
    fields = sorted({cause.field for cause in error.causes})
    return {
        "reason": error.reason,
        "message": error.message,
        "fields": fields,
        "requestId": error.request_id,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
