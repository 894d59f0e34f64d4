"""A program of the suite "informer" that follows ConfigMaps in a store of kubeconnect."""

from __future__ import annotations

import asyncio
import signal
import threading
import time

from informer_report import LOOK_SECONDS, Reporter, Settings, Version

from kubeconnect import Client, Object, Store
from kubeconnect.aio import AsyncClient, AsyncStore


class Handlers:
    """Handlers that report their calls."""

    def __init__(self, name: str, reporter: Reporter) -> None:
        """Report as the handlers ``name``."""
        self._name = name
        self._reporter = reporter

    def on_add(self, new: Object) -> None:
        """Report an object that the store did not have."""
        self._reporter.call(self._name, "add", new.name, None, version_of(new))

    def on_update(self, old: Object, new: Object) -> None:
        """Report a changed object."""
        self._reporter.call(self._name, "update", new.name, version_of(old), version_of(new))

    def on_delete(self, old: Object) -> None:
        """Report a deleted object."""
        self._reporter.call(self._name, "delete", old.name, version_of(old), None)


def version_of(obj: Object) -> Version:
    """Return the UID and version of an object."""
    return [obj.uid, obj["metadata"]["resourceVersion"]]


def content_of(store: Store | AsyncStore) -> dict[str, Version]:
    """Return the objects of a store by name."""
    return {each.name: version_of(each) for each in store}


def by_threads(settings: Settings) -> None:
    """Follow the ConfigMaps with threads."""
    reporter, ended = Reporter(), threading.Event()
    quick, slow = Handlers("quick", reporter), Handlers("slow", reporter)
    signal.signal(signal.SIGTERM, lambda *_: ended.set())

    def on_slow_update(old: Object, new: Object) -> None:
        while not settings.released:
            time.sleep(LOOK_SECONDS)
        time.sleep(settings.pause)
        slow.on_update(old, new)

    with (
        Client(settings.address) as client,
        client.store(
            "configmaps",
            namespace=settings.namespace,
            label_selector=settings.label_selector,
            restore=settings.dump,
        ) as store,
    ):
        store.subscribe(quick.on_add, quick.on_update, quick.on_delete)
        store.subscribe(slow.on_add, on_slow_update, slow.on_delete)
        while not ended.wait(LOOK_SECONDS):
            reporter.look(content_of(store))
        if settings.dump:
            store.dump(settings.dump)


async def by_asyncio(settings: Settings) -> None:
    """Follow the ConfigMaps with asyncio."""
    reporter, ended = Reporter(), asyncio.Event()
    quick, slow = Handlers("quick", reporter), Handlers("slow", reporter)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)

    async def on_slow_update(old: Object, new: Object) -> None:
        while not settings.released:
            await asyncio.sleep(LOOK_SECONDS)
        await asyncio.sleep(settings.pause)
        slow.on_update(old, new)

    async with (
        AsyncClient(settings.address) as client,
        client.store(
            "configmaps",
            namespace=settings.namespace,
            label_selector=settings.label_selector,
            restore=settings.dump,
        ) as store,
    ):
        store.subscribe(quick.on_add, quick.on_update, quick.on_delete)
        store.subscribe(slow.on_add, on_slow_update, slow.on_delete)
        while not ended.is_set():
            reporter.look(content_of(store))
            await asyncio.sleep(LOOK_SECONDS)
        if settings.dump:
            await store.dump(settings.dump)


if __name__ == "__main__":
    arguments = Settings.from_arguments()
    if arguments.way == "threads":
        by_threads(arguments)
    else:
        asyncio.run(by_asyncio(arguments))
