"""Several stores that share a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic

from kubeconnect._freshness import Freshness
from kubeconnect._types import T
from kubeconnect._watch_many_session import K
from kubeconnect.aio._follower import AsyncFollower
from kubeconnect.aio._store import AsyncStore, AsyncStoreLifecycle
from kubeconnect.aio._watch_many import AsyncWatchMany


class AsyncStores(AsyncStoreLifecycle, Mapping[K, AsyncStore[T]], Generic[K, T]):
    """Stores by key that share one stream. Use them as a context manager.

    ``wait_synced`` waits for all of them. They start and end together: if one watch is
    rejected, all stores end, and closing one closes all. They are dumped together, because
    they have one resume token.
    """

    def __init__(
        self,
        follower: AsyncFollower,
        stores: Mapping[K, AsyncStore[T]],
        selection: str,
        timeout: float,
    ) -> None:
        """Follow with ``follower``."""
        super().__init__(follower, tuple(follower.followed), selection, timeout)
        self._stores = stores

    def __getitem__(self, key: K) -> AsyncStore[T]:
        """Return the store of a key."""
        return self._stores[key]

    def __iter__(self) -> Iterator[K]:
        """Iterate over the keys."""
        return iter(self._stores)

    def __len__(self) -> int:
        """Return the number of stores."""
        return len(self._stores)

    @property
    def stale(self) -> bool:
        """Whether the objects of some store may be outdated."""
        return any(store.stale for store in self._stores.values())


class AsyncPart(Generic[K]):
    """What a stream reports about the watch of one key."""

    def __init__(self, stream: AsyncWatchMany[K, Any], key: K) -> None:
        """Read from ``stream``."""
        self._stream = stream
        self._key = key

    @property
    def freshness(self) -> Freshness | None:
        """How current the events are."""
        return self._stream.freshness.get(self._key)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Human-readable warnings."""
        return self._stream.warnings[self._key]

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the events cover."""
        return self._stream.namespaces[self._key]
