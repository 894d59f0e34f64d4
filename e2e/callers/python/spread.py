"""What many clients hold of the ConfigMaps of a namespace, each by a connection of its own.

python spread.py ADDRESS NAMESPACE COUNT

After each event, a line of JSON has the values of the ConfigMap "one" that there are among
the clients, and how often their watches began, were lost and are stale. The value "end" of
all clients ends it.
"""

from __future__ import annotations

import asyncio
import json
import sys

from kubeconnect import EventType
from kubeconnect.aio import AsyncClient, AsyncWatch


class Spread:
    """What the clients hold."""

    def __init__(self, count: int) -> None:
        """Hold nothing."""
        self.values: list[str] = [""] * count
        self.watches: list[AsyncWatch] = []
        self.resets = 0
        self.losses = 0

    def lose(self) -> None:
        """Count the loss of a stream."""
        self.losses += 1

    def report(self) -> None:
        """Print one line."""
        freshness = [watch.freshness for watch in self.watches]
        line = {
            "step": "spread",
            "values": sorted(set(self.values)),
            "resets": self.resets,
            "losses": self.losses,
            "stale": sum(each is not None and each.stale for each in freshness),
        }
        print(json.dumps(line), flush=True)


async def follow(place: int, address: str, namespace: str, spread: Spread) -> None:
    """Hold what the cluster holds, until the end."""
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
                spread.values[place] = event.object["data"]["key"]
            spread.report()
            if spread.values[place] == "end":
                return


async def main(address: str, namespace: str, count: str) -> None:
    """Run the clients."""
    spread = Spread(int(count))
    await asyncio.gather(
        *(follow(place, address, namespace, spread) for place in range(int(count)))
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
