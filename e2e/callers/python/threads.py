"""What a program with threads does with a cluster: it reads, watches and changes it.

python threads.py ADDRESS NAMESPACE [CA_FILE]

Each step is told as a line of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import kubeconnect
from kubeconnect import Client, EventType, PatchType

REPLICAS = 5


def main(address: str, namespace: str, ca_file: str | None = None) -> None:
    """Go through all steps."""
    with Client(address, ca_file=ca_file) as client:
        list_pods(client, namespace)
        get_settings(client, namespace)
        watch_scaling(client, namespace)
        keep_notes(client, namespace)
        ask_for_nobody(client, namespace)
        scale_below_nothing(client, namespace)


def list_pods(client: Client, namespace: str) -> None:
    """List the pods of one application, two for a page."""
    pods = client.list("po", namespace=namespace, label_selector="app=web", page_size=2)
    names = [pod.name for pod in pods]
    phases = sorted({pod["status"]["phase"] for pod in pods})
    tell("listed", names=names, total=pods.total, phases=phases)


def get_settings(client: Client, namespace: str) -> None:
    """Get one object."""
    settings = client.get("configmaps", "settings", namespace=namespace)
    tell("got", uid=settings.uid, version=settings.resource_version, data=settings["data"])


def watch_scaling(client: Client, namespace: str) -> None:
    """Scale a Deployment when the snapshot is complete, and wait for its pods."""
    held: dict[str, kubeconnect.Object] = {}
    with client.watch("pods", namespace=namespace, label_selector="app=web") as events:
        for event in events:
            if event.type is EventType.RESET:
                held.clear()
            elif event.type is EventType.DELETED and event.object:
                held.pop(event.object.name, None)
            elif event.object:
                held[event.object.name] = event.object
            elif event.type is EventType.SYNCED:
                tell("before", names=sorted(held))
                scale(client, namespace)
            if len(held) == REPLICAS:
                tell("after", names=sorted(held))
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
    tell("patched", version=result.object.resource_version, replicas=spec["replicas"])


def keep_notes(client: Client, namespace: str) -> None:
    """Create an object, update it, again from what is old by then, and delete it."""
    notes = {"metadata": {"name": "notes"}, "data": {"text": "first"}}
    first = client.create("configmaps", notes, namespace=namespace).object
    tell("created", uid=first.uid, version=first.resource_version, data=first["data"])
    changed = {**first, "data": {"text": "second"}}
    second = client.update("configmaps", changed).object
    tell("updated", uid=second.uid, version=second.resource_version, data=second["data"])
    try:
        client.update("configmaps", {**first, "data": {"text": "third"}})
    except kubeconnect.Conflict as error:
        tell("outdated", **described(error))
    left = client.delete("configmaps", "notes", namespace=namespace, uid=first.uid)
    tell("deleted", gone=left.object is None)


def ask_for_nobody(client: Client, namespace: str) -> None:
    """Get what is not there."""
    try:
        client.get("configmaps", "nobody", namespace=namespace)
    except kubeconnect.NotFound as error:
        tell("missing", **described(error))


def scale_below_nothing(client: Client, namespace: str) -> None:
    """Patch with what a validation refuses."""
    patch = {"spec": {"replicas": -1}}
    try:
        client.patch("deploy", "web", patch, namespace=namespace, type=PatchType.MERGE)
    except kubeconnect.Invalid as error:
        tell("refused", **described(error))


def described(error: kubeconnect.KubeconnectError) -> dict[str, Any]:
    """Return what an error says."""
    fields = sorted({cause.field for cause in error.causes})
    return {"reason": error.reason, "message": error.message, "fields": fields}


def tell(step: str, **what: Any) -> None:
    """Print one line."""
    print(json.dumps({"step": step, **what}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
