"""The connection state of a watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from kubeconnect._errors import KubeconnectError

OnRetry: TypeAlias = Callable[[KubeconnectError, float], object]
"""A function that is called when a stream is lost, with the error and the number of seconds
until the stream is opened again."""


@dataclass(frozen=True)
class Connection:
    """Whether a watch receives messages, and since when."""

    connected: bool
    """True from the first message of a stream until that stream is lost or closed."""
    since: datetime
    """The time when ``connected`` last changed, in UTC, by the clock of this host."""
