"""A program that watches several resources over one stream, with threads or with asyncio.

python watchmany.py threads|asyncio ADDRESS NAMESPACE

After each change it prints its objects as a line of JSON. It ends when there is an object named
"end".
"""

from __future__ import annotations

import json
from collections import Counter

from steps import run

from kubeconnect import Client, Event, EventType, WatchSpec
from kubeconnect.aio import AsyncClient


def watches(namespace: str) -> dict[str, WatchSpec]:
    """Return the watches."""
    return {
        resource: WatchSpec(resource, namespace=namespace, label_selector="app=web", patches=True)
        for resource in ("configmaps", "secrets")
    }


class Copy:
    """The labels of the objects of each resource, by name."""

    def __init__(self) -> None:
        """Begin without objects."""
        self.labels: dict[str, dict[str, dict[str, str]]] = {"configmaps": {}, "secrets": {}}
        self.resets: Counter[str] = Counter()

    def apply(self, resource: str, event: Event) -> None:
        """Apply an event."""
        objects = self.labels[resource]
        if event.type is EventType.RESET:
            self.resets[resource] += 1
            objects.clear()
        elif event.type is EventType.DELETED and event.object:
            objects.pop(event.object.name, None)
        elif event.object:
            objects[event.object.name] = event.object["metadata"]["labels"]

    def report(self) -> bool:
        """Print the labels, and return whether there is an object named "end"."""
        print(json.dumps({"step": "holds", **self.labels, "resets": self.resets}), flush=True)
        return "end" in self.labels["configmaps"]


def by_threads(address: str, namespace: str) -> None:
    """Watch the resources with threads."""
    copy = Copy()
    with Client(address) as client, client.watch_many(watches(namespace)) as events:
        for resource, event in events:
            copy.apply(resource, event)
            if events.synced and copy.report():
                break


async def by_asyncio(address: str, namespace: str) -> None:
    """Watch the resources with asyncio."""
    copy = Copy()
    async with AsyncClient(address) as client, client.watch_many(watches(namespace)) as events:
        async for resource, event in events:
            copy.apply(resource, event)
            if events.synced and copy.report():
                break


if __name__ == "__main__":
    run(by_threads, by_asyncio)
