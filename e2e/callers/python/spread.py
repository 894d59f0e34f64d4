"""A program with many clients that watch the ConfigMaps of a namespace, each over its own
connection.

python spread.py ADDRESS NAMESPACE COUNT

After each event it prints a line of JSON with the distinct values of the ConfigMap "one" in the
clients, the numbers of resets and losses of their watches, and the number of stale watches. It
ends when all clients have the value "end".
"""

from __future__ import annotations

import asyncio
import json
import sys

from kubeconnect import EventType
from kubeconnect.aio import AsyncClient, AsyncWatch


class Spread:
    """The state of the clients."""

    def __init__(self, count: int) -> None:
        """Begin without values."""
        self.values: list[str] = [""] * count
        self.watches: list[AsyncWatch] = []
        self.resets = 0
        self.losses = 0

    def lose(self) -> None:
        """Count the loss of a stream."""
        self.losses += 1

    def report(self) -> None:
        """Print the state as a line of JSON."""
        freshness = [watch.freshness for watch in self.watches]
        line = {
            "step": "spread",
            "values": sorted(set(self.values)),
            "resets": self.resets,
            "losses": self.losses,
            "stale": sum(each is not None and each.stale for each in freshness),
        }
        print(json.dumps(line), flush=True)


async def follow(index: int, address: str, namespace: str, spread: Spread) -> None:
    """Watch the ConfigMaps with a new client, until its value of "one" is "end"."""
    async with (
        AsyncClient(address) as client,
        client.watch(
            "configmaps", namespace=namespace, on_retry=lambda *_: spread.lose()
        ) as events,
    ):
        spread.watches.append(events)
        async for event in events:
            spread.resets += event.type is EventType.RESET
            if event.object and event.object.name == "one":
                spread.values[index] = event.object["data"]["key"]
            spread.report()
            if spread.values[index] == "end":
                return


async def main(address: str, namespace: str, count: str) -> None:
    """Run the clients."""
    spread = Spread(int(count))
    await asyncio.gather(
        *(follow(index, address, namespace, spread) for index in range(int(count)))
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
