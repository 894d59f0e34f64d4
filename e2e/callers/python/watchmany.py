"""What a program holds of several resources by one stream, with threads or asyncio.

python watchmany.py threads|asyncio ADDRESS NAMESPACE

What is held after each change is told as a line of JSON. An object called "end" ends it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter

from kubeconnect import Client, Event, EventType, WatchSpec
from kubeconnect.aio import AsyncClient


def watches(namespace: str) -> dict[str, WatchSpec]:
    """Return what to watch."""
    return {
        resource: WatchSpec(resource, namespace=namespace, label_selector="app=web", patches=True)
        for resource in ("configmaps", "secrets")
    }


class Held:
    """What is held of each resource: the labels of its objects, by their names."""

    def __init__(self) -> None:
        """Hold nothing."""
        self.labels: dict[str, dict[str, dict[str, str]]] = {"configmaps": {}, "secrets": {}}
        self.resets: Counter[str] = Counter()

    def apply(self, resource: str, event: Event) -> None:
        """Hold what an event tells."""
        held = self.labels[resource]
        if event.type is EventType.RESET:
            self.resets[resource] += 1
            held.clear()
        elif event.type is EventType.DELETED and event.object:
            held.pop(event.object.name, None)
        elif event.object:
            held[event.object.name] = event.object["metadata"]["labels"]

    def tell(self) -> bool:
        """Print one line, and return whether this is the end."""
        print(json.dumps({"step": "holds", **self.labels, "resets": self.resets}), flush=True)
        return "end" in self.labels["configmaps"]


def by_threads(address: str, namespace: str) -> None:
    """Hold what the cluster holds."""
    held = Held()
    with Client(address) as client, client.watch_many(watches(namespace)) as events:
        for resource, event in events:
            held.apply(resource, event)
            if events.synced and held.tell():
                break


async def by_asyncio(address: str, namespace: str) -> None:
    """Do the same."""
    held = Held()
    async with AsyncClient(address) as client, client.watch_many(watches(namespace)) as events:
        async for resource, event in events:
            held.apply(resource, event)
            if events.synced and held.tell():
                break


if __name__ == "__main__":
    if sys.argv[1] == "threads":
        by_threads(*sys.argv[2:])
    else:
        asyncio.run(by_asyncio(*sys.argv[2:]))
