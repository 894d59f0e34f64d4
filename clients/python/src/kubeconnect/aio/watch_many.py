"""Live events of several selections."""

from __future__ import annotations

from kubeconnect.aio.event_stream import AsyncEventStream
from kubeconnect.events import Event
from kubeconnect.freshness import Freshness
from kubeconnect.reads import Source
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.watch_many_session import K, WatchManySession


class AsyncWatchMany(
    AsyncEventStream[pb.WatchManyRequest, pb.WatchManyResponse, tuple[K, Event]],
):
    """Snapshots of several selections, and then every change to them: (key, event).

    For each key it begins with RESET, the snapshot as ADDED, and SYNCED; another RESET
    may come at any time, and means the same, for this key alone. What happens to objects of
    a snapshot before its SYNCED comes between them, as MODIFIED and DELETED.
    """

    _session: WatchManySession[K]

    @property
    def synced(self) -> bool:
        """Whether each of the watches has told something, and none is within a snapshot."""
        return self._session.synced

    @property
    def freshness(self) -> dict[K, Freshness]:
        """How current the events of each watch are, as the service last told; it does so
        every few seconds. A watch without a message so far is left out. All are stale,
        too, from the loss of the stream until the service reports it again on the next one.
        """
        return self._session.freshness

    @property
    def source(self) -> dict[K, Source]:
        """Where the objects of each watch come from, as the service last told; it does so
        when a stream begins, and with each RESET. A watch without a message so far is
        left out.
        """
        return self._session.source

    @property
    def warnings(self) -> dict[K, tuple[str, ...]]:
        """For people, and for each watch: that its events cover some namespaces only, and
        objects for which the filter has no value, as the service last said.
        """
        return self._session.warnings

    @property
    def namespaces(self) -> dict[K, tuple[str, ...]]:
        """The namespaces that the events of each watch cover, where the caller asked for all
        and may not watch all of them. Empty: all, or not known yet.
        """
        return self._session.namespaces
