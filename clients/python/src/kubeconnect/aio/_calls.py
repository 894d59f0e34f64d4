"""What all calls of a client need."""

from __future__ import annotations

from kubeconnect._transport.aio import AsyncTransport


class AsyncCalls:
    """The base of the parts of a client: its connection and the default timeout of its calls."""

    _transport: AsyncTransport
    _timeout: float
