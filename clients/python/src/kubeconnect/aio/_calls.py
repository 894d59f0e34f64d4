"""What all calls of a client need."""

from __future__ import annotations

from weakref import WeakSet

from kubeconnect._transport.aio import AsyncTransport
from kubeconnect.aio._follower import AsyncFollower


class AsyncCalls:
    """The base of the parts of a client: its connection, the default timeout of its calls, and
    what keeps its stores up to date.
    """

    _transport: AsyncTransport
    _timeout: float
    _followers: WeakSet[AsyncFollower]
