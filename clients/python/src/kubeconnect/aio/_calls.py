"""What all calls of a client need."""

from __future__ import annotations

from typing import Protocol
from weakref import WeakSet

from kubeconnect._transport.aio import AsyncTransport
from kubeconnect.aio._follower import AsyncFollower


class AsyncCloseable(Protocol):
    """What is closed with a client."""

    async def close(self) -> None:
        """Close it. Closing it again has no effect."""


class AsyncCalls:
    """The base of the parts of a client: its connection, the default timeout of its calls, what
    keeps its stores up to date, and its connections into containers.
    """

    _transport: AsyncTransport
    _timeout: float
    _followers: WeakSet[AsyncFollower]
    _sessions: WeakSet[AsyncCloseable]
