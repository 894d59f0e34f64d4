"""A program that follows the ConfigMaps of a namespace in a store.

python store.py threads|asyncio ADDRESS NAMESPACE FILE FIRST

For the object "report-FIRST", and then for each next number, it prints a line of JSON when the
store is complete up to that object: the objects of the store, and the calls that its handlers
received since the last line. It dumps the store to FILE, from which it begins, and ends when there
is an object named "end-FIRST".
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import defaultdict
from typing import Any

from kubeconnect import Client, Object, Store
from kubeconnect.aio import AsyncClient, AsyncStore


class Mirror:
    """The objects as the handlers of one subscription received them.

    It checks that each call follows from the calls before it.
    """

    def __init__(self) -> None:
        """Begin without objects."""
        self.versions: dict[str, list[str]] = {}
        self.calls: defaultdict[str, list[str]] = defaultdict(list)
        self.violations: list[str] = []

    def on_add(self, new: Object) -> None:
        """Add an object that the mirror does not have."""
        self._receive("add", None, new)

    def on_update(self, old: Object, new: Object) -> None:
        """Replace an object."""
        if old.uid != new.uid:
            self.violations.append(f"update of {old.name} to another UID")
        self._receive("update", old, new)

    def on_delete(self, old: Object) -> None:
        """Remove an object."""
        self._receive("delete", old, None)

    def _receive(self, call: str, old: Object | None, new: Object | None) -> None:
        name = (new or old).name  # type: ignore[union-attr]
        if self.versions.pop(name, None) != version_of(old):
            self.violations.append(f"{call} of {name} does not follow from the calls before it")
        if (after := version_of(new)) is not None:
            self.versions[name] = after
        self.calls[name].append(call)


class Observer:
    """A store, a subscription that is never behind, and one that is slow."""

    def __init__(self, store: Store | AsyncStore, namespace: str, first: int) -> None:
        """Begin with the report ``first``."""
        self.store = store
        self.namespace = namespace
        self.number = first
        self.end = f"end-{first}"
        self.quick, self.slow = Mirror(), Mirror()
        self.fewest = sys.maxsize

    def observe(self) -> bool:
        """Print the next report if the store is complete up to it, and return whether it was."""
        self.fewest = min(self.fewest, len(self.store))
        name = f"report-{self.number}"
        marker = self.store.get(self.namespace, name)
        if marker is None or int(self.store.resource_version or 0) < int(marker.resource_version):
            return False
        versions = versions_of(self.store)
        if not versions == self.quick.versions == self.slow.versions:
            return False
        report(
            name,
            versions=versions,
            calls=self.quick.calls,
            violations=self.quick.violations + self.slow.violations,
            fewest=self.fewest,
            stale=self.store.stale,
        )
        self.number += 1
        self.fewest = sys.maxsize
        self.quick.calls.clear()
        return True

    @property
    def ended(self) -> bool:
        """Whether the object that ends the program exists."""
        return self.store.get(self.namespace, self.end) is not None


def version_of(obj: Object | None) -> list[str] | None:
    """Return the UID and version of an object."""
    return None if obj is None else [obj.uid, obj["metadata"]["resourceVersion"]]


def versions_of(store: Store | AsyncStore) -> dict[str, Any]:
    """Return the UIDs and versions of all objects, by name."""
    return {each.name: version_of(each) for each in store}


def by_threads(address: str, namespace: str, file: str, first: str) -> None:
    """Follow the ConfigMaps with threads."""
    with (
        Client(address) as client,
        client.store("configmaps", namespace=namespace, restore=file) as store,
    ):
        report("begins", versions=versions_of(store))
        observer = Observer(store, namespace, int(first))
        slow = observer.slow

        def on_update(old: Object, new: Object) -> None:
            time.sleep(0.01)
            slow.on_update(old, new)

        store.subscribe(observer.quick.on_add, observer.quick.on_update, observer.quick.on_delete)
        store.subscribe(slow.on_add, on_update, slow.on_delete)
        while not observer.ended:
            if observer.observe():
                store.dump(file)
            time.sleep(0.01)


async def by_asyncio(address: str, namespace: str, file: str, first: str) -> None:
    """Follow the ConfigMaps with asyncio."""
    async with (
        AsyncClient(address) as client,
        client.store("configmaps", namespace=namespace, restore=file) as store,
    ):
        report("begins", versions=versions_of(store))
        observer = Observer(store, namespace, int(first))
        slow = observer.slow

        async def on_update(old: Object, new: Object) -> None:
            await asyncio.sleep(0.01)
            slow.on_update(old, new)

        store.subscribe(observer.quick.on_add, observer.quick.on_update, observer.quick.on_delete)
        store.subscribe(slow.on_add, on_update, slow.on_delete)
        while not observer.ended:
            if observer.observe():
                await store.dump(file)
            await asyncio.sleep(0.01)


def report(step: str, **fields: Any) -> None:
    """Print the result of a step as a line of JSON."""
    print(json.dumps({"step": step, **fields}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "threads":
        by_threads(*sys.argv[2:])
    else:
        asyncio.run(by_asyncio(*sys.argv[2:]))
