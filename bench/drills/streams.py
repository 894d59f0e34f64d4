"""Streams of several callers, as a program with the Python client keeps them.

python streams.py ADDRESS

It reads a JSON list of streams from standard input: the number, the namespace and the token of
each. It prints a line of JSON for each event, and for each stream that is lost or has ended.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any
from zlib import crc32

from kubeconnect import Event, EventType, KubeconnectError
from kubeconnect.aio import AsyncClient, AsyncWatch

RESTART_SECONDS = 1.0
"""The time after which a stream that has ended with an error is opened as a new one."""


class Stream:
    """One stream, and the objects that it has delivered."""

    def __init__(self, number: int) -> None:
        """Begin without objects."""
        self._number = number
        self._objects: dict[str, tuple[str, str]] = {}
        self._sum = 0
        self._begins = "without a token"  # the cause if the next event is RESET

    async def follow(self, client: AsyncClient, namespace: str) -> None:
        """Watch the ConfigMaps of the namespace, until the watch ends with an error."""
        watch: AsyncWatch[Any] = client.watch(
            "configmaps", namespace=namespace, on_retry=lambda error, _: self._lose(watch, error)
        )
        async with watch:
            async for event in watch:
                self._apply(event)
                self._report(
                    stale=watch.freshness is None or watch.freshness.stale,
                    reset=self._begins if event.type is EventType.RESET else "",
                )
                self._begins = "in an open stream"

    def end(self, error: KubeconnectError) -> None:
        """Report the error with which the watch has ended."""
        self._begins = "without a token"
        self._report(ended=f"Python {type(error).__name__}")

    def _lose(self, watch: AsyncWatch[Any], error: Exception) -> None:
        self._begins = "after resuming" if watch.resume_token else "without a token"
        self._report(lost=f"Python {type(error).__name__}")

    def _apply(self, event: Event) -> None:
        if event.type is EventType.RESET:
            self._objects.clear()
            self._sum = 0
        if event.object is None:
            return
        name, uid = event.object.name, event.object.uid
        if event.type is EventType.DELETED:
            if name in self._objects and self._objects[name][0] == uid:
                self._remove(name)
            return
        self._remove(name)
        self._objects[name] = (uid, event.object.resource_version)
        self._sum += checksum(name, event.object.resource_version)

    def _remove(self, name: str) -> None:
        _, version = self._objects.pop(name, ("", ""))
        if version:
            self._sum -= checksum(name, version)

    def _report(self, **values: Any) -> None:
        line = {"stream": self._number, "sum": self._sum, **values}
        print(json.dumps(line), flush=True)


def checksum(name: str, version: str) -> int:
    """Return the checksum of one state of an object."""
    return crc32(f"{name} {version}".encode())


async def keep(address: str, number: int, namespace: str, token: str) -> None:
    """Keep one stream, over a connection of its own."""
    stream = Stream(number)
    async with AsyncClient(address, token=token) as client:
        while True:
            try:
                await stream.follow(client, namespace)
            except KubeconnectError as error:
                stream.end(error)
            await asyncio.sleep(RESTART_SECONDS)


async def main(address: str) -> None:
    """Keep all streams."""
    logging.disable(logging.WARNING)  # the lines about lost streams
    streams = json.load(sys.stdin)
    await asyncio.gather(
        *(keep(address, each["stream"], each["namespace"], each["token"]) for each in streams)
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
