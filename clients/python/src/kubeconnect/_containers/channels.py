"""The messages of WebSockets into containers: the first byte of each is a channel."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kubeconnect._logs import LogStream

STDIN = 0
ERROR = 3
RESIZE = 4
CLOSE = 255

OUTPUTS = {1: LogStream.STDOUT, 2: LogStream.STDERR}
"""The channels of the output of a container."""

PORT_DATA = 0
PORT_ERROR = 1

MAX_DATA_BYTES = 32 * 1024
"""The maximum size of the data in a message that is sent."""

CLOSE_STDIN = bytes([CLOSE, STDIN])
"""The message that closes stdin."""


def data_messages(data: bytes) -> Iterator[bytes]:
    """Return the messages for stdin, or for a port: its channel is 0 too."""
    for begin in range(0, len(data), MAX_DATA_BYTES):
        yield bytes([STDIN]) + data[begin : begin + MAX_DATA_BYTES]


def resize_message(width: int, height: int) -> bytes:
    """Return the message with the size of the terminal. Raises ValueError for an invalid size."""
    for name, value in (("width", width), ("height", height)):
        if not 0 < value < 65536:
            raise ValueError(f"{name} must be between 1 and 65535, not {value}")
    return bytes([RESIZE]) + json.dumps({"Width": width, "Height": height}).encode()


class PortMessages:
    """The messages of one connection to a port. The first one of each channel is the port."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self._begun: set[int] = set()

    def split(self, message: bytes) -> tuple[int, bytes]:
        """Return the channel and the data of a message, which may be empty."""
        channel = message[0] if message else PORT_DATA
        if message and channel not in self._begun:
            self._begun.add(channel)
            return channel, b""
        return channel, message[1:]
