"""What identifies the caller: a bearer token, a client certificate, or both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

Metadata: TypeAlias = tuple[tuple[str, str], ...]

T_co = TypeVar("T_co", covariant=True)


class KeyPair(NamedTuple):
    """A client certificate, which may be followed by intermediate ones, and its key, in PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        """Return a text without the key."""
        return "KeyPair(…)"


class Presented(NamedTuple):
    """What a call presents to the service."""

    metadata: Metadata
    pair: KeyPair | None


@dataclass(frozen=True)
class Identity(Generic[T_co]):
    """The credentials of a client, which may be renewed."""

    token: Callable[[float | None], T_co] | None = None
    """Returns the bearer token of a call, or None for none. Its argument is the number of seconds
    that the call has. A function of the user does not receive it."""
    pair: Callable[[], KeyPair | None] = lambda: None
    """Returns the client certificate of a connection. It is called after ``token``."""
    renews: bool = False
    """Whether a later call may present something else."""
    asks: Callable[[], bool] = lambda: False
    """Returns whether ``token`` may ask the user for something, which no timeout limits."""
    discard: Callable[[Presented], object] = lambda presented: None
    """Is called with what the service has rejected as Unauthenticated."""
    close: Callable[[], object] = lambda: None
    """Ends what waits for a token."""
