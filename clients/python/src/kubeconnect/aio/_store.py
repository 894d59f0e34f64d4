"""A local copy of a selection that follows the cluster."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from kubeconnect._concurrency.aio import run_blocking
from kubeconnect._connection import Connection
from kubeconnect._freshness import Freshness
from kubeconnect._objects import Resource
from kubeconnect._store_dump import Dump, Part, encode, write_file
from kubeconnect._store_state import StoreState
from kubeconnect._transport.options import deadline
from kubeconnect._types import T, T_co
from kubeconnect.aio._follower import AsyncFollowed, AsyncFollower
from kubeconnect.aio._subscription import (
    CLOSE_SECONDS,
    AsyncSubscription,
    OnAdd,
    OnDelete,
    OnUpdate,
)

Self = TypeVar("Self", bound="AsyncStoreLifecycle")

ObjectsFound: TypeAlias = list[T]
"""The result of ``list``, which hides the type within the class."""


class Reports(Protocol):
    """What a stream reports about one of its watches."""

    @property
    def freshness(self) -> Freshness | None:
        """How current the events are."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Human-readable warnings."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the events cover."""


class AsyncStoreLifecycle:
    """The beginning and the end of one or several stores that share a stream."""

    def __init__(
        self,
        follower: AsyncFollower,
        followed: tuple[AsyncFollowed, ...],
        selection: str,
        timeout: float,
    ) -> None:
        """Follow with ``follower``. ``timeout`` is the client's timeout."""
        self._follower = follower
        self._followed = followed
        self._selection = selection
        self._timeout = timeout

    async def __aenter__(self: Self) -> Self:
        """Start following."""
        self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the store."""
        await self.close()

    def start(self) -> None:
        """Start following, as entering the ``with`` block does. Starting again has no effect."""
        self._follower.start()

    async def close(self, timeout: float = CLOSE_SECONDS) -> None:
        """End the stream and the calls of handlers: no call begins afterwards. The objects can
        be read as they are. Closing again has no effect.

        Handlers that are running are waited for, for at most ``timeout`` seconds in all, unless
        the call is from one of them. With asyncio they are cancelled.
        """
        await self._follower.close(timeout)

    async def wait_synced(self, timeout: float | None = None) -> None:
        """Wait until the objects are complete: the first snapshot was received, or a restored
        store has received all changes since its dump, which the service reports some seconds
        after the last of them.

        Raises the error that ended the stream, such as Forbidden or NotFound; Cancelled if the
        store was closed; and DeadlineExceeded after ``timeout`` seconds. The default is the
        client's timeout, and ``math.inf`` means no limit.
        """
        await self._follower.wait_synced(self._followed, deadline(timeout, self._timeout))

    async def wait_closed(self, timeout: float = math.inf) -> None:
        """Wait until the store is closed, or raise the error that ended it. Raises
        DeadlineExceeded after ``timeout`` seconds; the default is no limit.
        """
        await self._follower.wait_ended(deadline(timeout, self._timeout))

    @property
    def synced(self) -> bool:
        """Whether the objects have been complete once: see ``wait_synced``."""
        return all(each.state.synced for each in self._followed)

    @property
    def connection(self) -> Connection:
        """Whether the stream is connected, and since when."""
        return self._follower.connection

    @property
    def error(self) -> Exception | None:
        """The error that ended the stream; None if it was not ended by an error."""
        return self._follower.error

    @property
    def closed(self) -> bool:
        """Whether the stream has ended: it was closed, or ``error`` has ended it."""
        return self._follower.ended.is_set()

    async def dump(self, path: str | os.PathLike[str]) -> None:
        """Write the objects and their resume token to the file ``path``, with which a later
        program continues: see ``restore`` of ``AsyncClient.store``.

        The file is replaced atomically, and only its owner may read it. It has a token unless
        a snapshot is being received.
        """
        pieces = encode(self._dumped(), self._selection)
        await run_blocking(lambda: write_file(path, pieces))

    def dumps(self) -> bytes:
        """Return what ``dump`` writes."""
        return b"".join(encode(self._dumped(), self._selection))

    def _dumped(self) -> Dump:
        if len(self._followed) < len(self._follower.followed):
            raise ValueError("the stores share one resume token: dump the stores together")
        states = [each.state for each in self._followed]
        with states[0].guard:
            parts = [
                Part(state.resource, state.resource_version, state.stored()) for state in states
            ]
            return Dump(self._follower.position.token, parts)


class AsyncStore(AsyncStoreLifecycle, Generic[T_co]):
    """A local copy of the objects of a selection that follows the cluster: an informer.

    Use it as a context manager. It watches in the background, and reads never wait: they
    return what the store has; before it is started they raise RuntimeError, unless the store
    restores a dump. A lost stream is opened again and resumes, as in
    ``AsyncClient.watch``. A new snapshot replaces the objects when it is complete, so that
    readers never see a part of a snapshot: before the first one the store is empty, or as it
    was restored.

    The objects are kept encoded, and each read returns copies, which a caller may keep or
    change: nothing that it does to a copy changes the store, and no copy changes after it was
    returned. An Object is decoded on first access. A message of ``kubeconnect.k8s`` is decoded
    by each read, and while an iteration reaches it: get an object once to read several of its
    fields, and use indexes. A message that cannot be read raises UnreadableObject; an iteration
    may be continued after that.

    The store ends if the service rejects its watch, for instance because a permission was
    revoked, or if the service cannot be reached for its first stream. It then keeps its
    objects and is ``stale``; ``error`` is the error, ``wait_synced`` and ``wait_closed`` raise
    it, ``on_error`` is called with it, and the logger "kubeconnect" logs it.

    The store is safe for use by several threads. With asyncio, it belongs to its event loop.
    """

    def __init__(
        self,
        follower: AsyncFollower,
        followed: AsyncFollowed,
        reports: Callable[[], Reports | None],
        selection: str,
        timeout: float,
    ) -> None:
        """Read the state of ``followed``, and what its stream reports from ``reports``."""
        super().__init__(follower, (followed,), selection, timeout)
        self._name = followed.name
        self._state = followed.state
        self._reports = reports

    def __repr__(self) -> str:
        """Return the resource, the number of objects, and whether they are current."""
        state = "closed" if self.closed else "stale" if self.stale else "current"
        return f"<{type(self).__name__} of {self._name}: {len(self._state)} objects, {state}>"

    @property
    def _readable(self) -> StoreState:
        self._follower.check_readable()
        return self._state

    def get(self, namespace: str | None, name: str) -> T_co | None:
        """Return an object; None if there is none. ``namespace`` is None for a cluster-scoped
        object.
        """
        found: T_co | None = self._readable.get((namespace or "", name))
        return found

    def list(self, namespace: str | None = None) -> ObjectsFound[T_co]:
        """Return all objects, or those of one namespace, in no particular order."""
        return [*self._readable.all(namespace)]

    def __iter__(self) -> Iterator[T_co]:
        """Iterate over the objects as they are now: later changes have no effect."""
        return self._readable.all(None)

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._readable)

    def by_index(self, index: str, value: Hashable) -> ObjectsFound[T_co]:
        """Return the objects with this value in an index of ``AsyncClient.store``. Raises
        KeyError if the store has no such index.
        """
        return [*self._readable.by_index(index, value)]

    def index_values(self, index: str) -> tuple[Any, ...]:
        """Return the values that objects have in an index."""
        return tuple(self._readable.index_values(index))

    def subscribe(
        self,
        on_add: OnAdd[T_co] | None = None,
        on_update: OnUpdate[T_co] | None = None,
        on_delete: OnDelete[T_co] | None = None,
    ) -> AsyncSubscription:
        """Call handlers for the objects and for each change, until the store or the
        subscription is closed.

        First ``on_add(object)`` is called for each object that the store has. Then the calls
        for each object follow its changes:

        - ``on_add(new)`` for an object that the subscription does not know;
        - ``on_update(old, new)`` for a changed object, where ``old`` is the state that the
          subscription last received;
        - ``on_delete(old)`` for an object that was deleted or has left the selection, again
          with the state that the subscription last received.

        An object that was deleted and created again has another UID, and is reported by
        ``on_delete(old)`` and ``on_add(new)``. Nothing is called for an object that is as the
        subscription last received it, although a new snapshot contains it.

        Each subscription has its own thread, or its own task with asyncio, in which its
        handlers are called one after another. A slow handler delays neither the store nor other
        subscriptions. While it is behind, the changes of one object are combined: it
        receives the latest state, and nothing for an object that came and went in between. Only
        the objects with changes are remembered, so there are never more calls due than
        objects. The calls are ordered by the first change of each object that was not yet
        received. When a handler is called the store may already be newer than ``new``.

        With asyncio, handlers may be async. A handler that is not, is called in the event loop
        and must not block. An exception of a handler is logged by the logger "kubeconnect" and
        counted in ``errors``; the state counts as received, and the next call follows. So is a
        message that cannot be read, for which nothing is called: it then is ``old`` without
        content.

        Raises the error that ended the store, or Cancelled if it was closed.
        """
        self._follower.check_open()
        return self._followed[0].subscribe(on_add, on_update, on_delete)

    @property
    def resource(self) -> Resource | None:
        """The resource of the objects; None before the first object."""
        return self._state.resource

    @property
    def resource_version(self) -> str | None:
        """The version up to which the objects are complete; None before the first snapshot. An
        object of the store may be newer.
        """
        return self._state.resource_version

    @property
    def stale(self) -> bool:
        """Whether the objects may be outdated: they were never complete, the service is
        unreachable, the API server is unreachable for the service, a new snapshot is being
        received, or the store has ended.
        """
        reports = self._reports()
        freshness = reports.freshness if reports else None
        return (
            not self._state.synced
            or self._state.within_snapshot
            or self.closed
            or freshness is None
            or freshness.stale
        )

    @property
    def freshness(self) -> Freshness:
        """Whether the objects are ``stale``, and the last contact with the API server."""
        reports = self._reports()
        freshness = (reports.freshness if reports else None) or Freshness(True, None)
        return replace(freshness, stale=self.stale)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Human-readable warnings, as of ``AsyncClient.watch``."""
        reports = self._reports()
        return reports.warnings if reports else ()

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the store covers, if all were requested and the caller is not
        allowed to watch all of them; empty if it covers all.
        """
        reports = self._reports()
        return reports.namespaces if reports else ()

    @property
    def handler_errors(self) -> int:
        """The number of calls of handlers that raised an exception, of all subscriptions."""
        return self._state.handler_errors

    @property
    def index_errors(self) -> int:
        """The number of calls of index functions that raised an exception. Such an object is
        not in the index. The first exception of each index is logged.
        """
        return self._state.index_errors
