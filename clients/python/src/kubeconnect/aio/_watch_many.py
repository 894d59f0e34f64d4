"""A watch of several selections over one stream."""

from __future__ import annotations

from typing import Generic

from kubeconnect._events import Event
from kubeconnect._freshness import Freshness
from kubeconnect._reads import Source
from kubeconnect._types import T
from kubeconnect._watch_many_session import K, WatchManySession
from kubeconnect.aio._event_stream import AsyncResumableStream
from kubeconnect.v1 import watch_pb2 as pb


class AsyncWatchMany(
    AsyncResumableStream[pb.WatchManyRequest, pb.WatchManyResponse, tuple[K, Event[T]]],
    Generic[K, T],
):
    """Snapshots of several selections, followed by every change to them, as (key, event).

    Each key begins with RESET, the snapshot as ADDED, and SYNCED. Another RESET may follow
    at any time, with a new snapshot of this key alone. Changes of objects before SYNCED are
    delivered between the objects of the snapshot, as MODIFIED and DELETED.
    """

    _session: WatchManySession[K]

    @property
    def synced(self) -> bool:
        """Whether each watch has delivered an event, and none is within a snapshot."""
        return self._session.synced

    @property
    def freshness(self) -> dict[K, Freshness]:
        """How current the events of each watch are, as last reported by the service, which
        reports it every few seconds. Watches without a report so far are left out. All are
        also stale from the loss of the stream until the first report on the next stream.
        """
        return self._session.freshness

    @property
    def source(self) -> dict[K, Source]:
        """Where the objects of each watch are read, as last reported by the service: when a
        stream begins, and with each RESET. Watches without a message so far are left out.
        """
        return self._session.source

    @property
    def warnings(self) -> dict[K, tuple[str, ...]]:
        """The human-readable warnings of each watch, as last sent: that its events cover only
        some namespaces, and objects for which the filter has no value.
        """
        return self._session.warnings

    @property
    def namespaces(self) -> dict[K, tuple[str, ...]]:
        """The namespaces that the events of each watch cover, if all were requested and the
        caller is not allowed to watch all of them. Empty if the events cover all namespaces,
        or before the first message.
        """
        return self._session.namespaces
