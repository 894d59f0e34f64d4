"""A program that keeps a store of the ConfigMaps of a namespace, and prints its state.

python stale.py threads|asyncio ADDRESS NAMESPACE

It prints a line of JSON at each change, and ends when there is an object named "end".
"""

from __future__ import annotations

import asyncio
import json
import time

from steps import run

from kubeconnect import Client, Store
from kubeconnect.aio import AsyncClient, AsyncStore

LOOK_SECONDS = 0.05
"""The time between two looks at the store."""


def by_threads(address: str, namespace: str) -> None:
    """Keep a store with threads."""
    with Client(address) as client, client.store("configmaps", namespace=namespace) as store:
        last = ""
        while not store.get(namespace, "end"):
            last = show(store, last)
            time.sleep(LOOK_SECONDS)


async def by_asyncio(address: str, namespace: str) -> None:
    """Keep a store with asyncio."""
    async with (
        AsyncClient(address) as client,
        client.store("configmaps", namespace=namespace) as store,
    ):
        last = ""
        while not store.get(namespace, "end"):
            last = show(store, last)
            await asyncio.sleep(LOOK_SECONDS)


def show(store: Store | AsyncStore, last: str) -> str:
    """Print the state of a store if it differs from the last one, and return it."""
    freshness = store.freshness
    state = {
        "step": "state",
        "stale": store.stale,
        "known_stale": freshness.stale,
        "contact": freshness.last_contact_time is not None,
        "data": {each.name: each["data"] for each in store},
    }
    if (text := json.dumps(state)) != last:
        print(text, flush=True)
    return text


if __name__ == "__main__":
    run(by_threads, by_asyncio)
