"""A program with asyncio that reads, watches and changes objects of a cluster.

python coroutines.py ADDRESS NAMESPACE [CA_FILE]

It prints each step as a line of JSON.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from steps import report

import kubeconnect
from kubeconnect import EventType, PatchType
from kubeconnect.aio import AsyncClient

REPLICAS = 5


async def main(address: str, namespace: str, ca_file: str | None = None) -> None:
    """Run all steps, the reads concurrently."""
    async with AsyncClient(address, ca_file=ca_file) as client:
        await asyncio.gather(list_pods(client, namespace), get_settings(client, namespace))
        await watch_scaling(client, namespace)
        await keep_notes(client, namespace)
        await asyncio.gather(
            ask_for_nobody(client, namespace), scale_below_nothing(client, namespace)
        )
        await watch_nothing(client)


async def list_pods(client: AsyncClient, namespace: str) -> None:
    """List the pods of one application, two per page."""
    pods = await client.list("po", namespace=namespace, label_selector="app=web", page_size=2)
    names = [pod.name async for pod in pods]
    phases = sorted({pod["status"]["phase"] async for pod in pods})
    report("listed", names=names, total=pods.total, phases=phases)


async def get_settings(client: AsyncClient, namespace: str) -> None:
    """Get one object."""
    settings = await client.get("configmaps", "settings", namespace=namespace)
    report("got", uid=settings.uid, version=settings.resource_version, data=settings["data"])


async def watch_scaling(client: AsyncClient, namespace: str) -> None:
    """Scale a Deployment when the snapshot is complete, and wait for its pods."""
    pods: dict[str, kubeconnect.Object] = {}
    async with client.watch("pods", namespace=namespace, label_selector="app=web") as events:
        async for event in events:
            if event.type is EventType.RESET:
                pods.clear()
            elif event.type is EventType.DELETED and event.object:
                pods.pop(event.object.name, None)
            elif event.object:
                pods[event.object.name] = event.object
            elif event.type is EventType.SYNCED:
                report("before", names=sorted(pods))
                await scale(client, namespace)
            if len(pods) == REPLICAS:
                report("after", names=sorted(pods))
                return


async def scale(client: AsyncClient, namespace: str) -> None:
    """Patch a Deployment."""
    result = await client.patch(
        "deployments.apps",
        "web",
        {"spec": {"replicas": REPLICAS}},
        namespace=namespace,
        type=PatchType.MERGE,
        field_manager="a-python-program",
    )
    spec = result.object["spec"]
    report("patched", version=result.object.resource_version, replicas=spec["replicas"])


async def keep_notes(client: AsyncClient, namespace: str) -> None:
    """Create an object, update it, update it from an outdated version, and delete it."""
    notes = {"metadata": {"name": "notes"}, "data": {"text": "first"}}
    first = (await client.create("configmaps", notes, namespace=namespace)).object
    report("created", uid=first.uid, version=first.resource_version, data=first["data"])
    changed = {**first, "data": {"text": "second"}}
    second = (await client.update("configmaps", changed)).object
    report("updated", uid=second.uid, version=second.resource_version, data=second["data"])
    try:
        await client.update("configmaps", {**first, "data": {"text": "third"}})
    except kubeconnect.Conflict as error:
        report("outdated", **described(error))
    left = await client.delete("configmaps", "notes", namespace=namespace, uid=first.uid)
    report("deleted", gone=left.object is None)


async def ask_for_nobody(client: AsyncClient, namespace: str) -> None:
    """Get an object that does not exist."""
    try:
        await client.get("configmaps", "nobody", namespace=namespace)
    except kubeconnect.NotFound as error:
        report("missing", **described(error))


async def scale_below_nothing(client: AsyncClient, namespace: str) -> None:
    """Patch with an invalid value."""
    patch = {"spec": {"replicas": -1}}
    try:
        await client.patch("deploy", "web", patch, namespace=namespace, type=PatchType.MERGE)
    except kubeconnect.Invalid as error:
        report("refused", **described(error))


async def watch_nothing(client: AsyncClient) -> None:
    """Watch a resource that the cluster does not serve."""
    try:
        async for _ in client.watch("nothings"):
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
    asyncio.run(main(*sys.argv[1:]))
