"""A program that keeps a copy of the ConfigMaps of a namespace across lost streams.

python follow.py threads|asyncio|fixed ADDRESS NAMESPACE [TOKEN_FILE]

After each event, and each loss of a stream, it prints its copy as a line of JSON. It ends when
there is an object named "end". With threads the client reads the token file itself, with asyncio
an async function does; "fixed" uses threads and the token that is in the file at first.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from steps import report

import kubeconnect
from kubeconnect import Client, Event, EventType, KubeconnectError, Watch
from kubeconnect.aio import AsyncClient, AsyncWatch


class Copy:
    """The copy: the data of each object, by name."""

    def __init__(self) -> None:
        """Begin without objects."""
        self.data: dict[str, Any] = {}
        self.resets = 0

    def apply(self, event: Event, events: Watch | AsyncWatch) -> bool:
        """Apply an event, print the copy, and return whether there is an object named "end"."""
        if event.type is EventType.RESET:
            self.resets += 1
            self.data.clear()
        elif event.type is EventType.DELETED and event.object:
            self.data.pop(event.object.name, None)
        elif event.object:
            self.data[event.object.name] = event.object["data"]
        report("holds", data=self.data, resets=self.resets, **state(events))
        return "end" in self.data


def by_threads(address: str, namespace: str, token_file: str | None = None) -> None:
    """Follow the ConfigMaps with threads, and list them at the end."""
    with Client(address, token_file=token_file) as client:
        follow(client, namespace)
        report("listed", total=client.list("configmaps", namespace=namespace).total)


def by_a_fixed_token(address: str, namespace: str, token_file: str) -> None:
    """Follow the ConfigMaps with a fixed token, until the token expires."""
    with Client(address, token=Path(token_file).read_text()) as client:
        try:
            follow(client, namespace)
        except KubeconnectError as error:
            report("failed", kind=type(error).__name__)


def follow(client: Client, namespace: str) -> None:
    """Follow the ConfigMaps until there is an object named "end"."""
    copy = Copy()
    with client.watch(
        "configmaps", namespace=namespace, on_retry=printing_losses(lambda: events)
    ) as events:
        for event in events:
            if copy.apply(event, events):
                break


async def by_asyncio(address: str, namespace: str, token_file: str | None = None) -> None:
    """Follow the ConfigMaps with asyncio, and list them at the end."""

    async def token() -> str:
        return await asyncio.to_thread(Path(token_file or "").read_text)

    copy = Copy()
    async with AsyncClient(address, token=token if token_file else None) as client:
        async with client.watch(
            "configmaps", namespace=namespace, on_retry=printing_losses(lambda: events)
        ) as events:
            async for event in events:
                if copy.apply(event, events):
                    break
        listed = await client.list("configmaps", namespace=namespace)
        report("listed", total=listed.total)


def printing_losses(
    events: Callable[[], Watch | AsyncWatch],
) -> Callable[[kubeconnect.KubeconnectError, float], None]:
    """Return a function that prints the loss of a stream."""
    return lambda error, _: report("lost", kind=type(error).__name__, **state(events()))


def state(events: Watch | AsyncWatch) -> dict[str, bool | None]:
    """Return whether the watch is connected, and whether its events may be outdated."""
    freshness = events.freshness
    stale = freshness.stale if freshness else None
    return {"connected": events.connection.connected, "stale": stale}


if __name__ == "__main__":
    if sys.argv[1] == "threads":
        by_threads(*sys.argv[2:])
    elif sys.argv[1] == "fixed":
        by_a_fixed_token(*sys.argv[2:])
    else:
        asyncio.run(by_asyncio(*sys.argv[2:]))
