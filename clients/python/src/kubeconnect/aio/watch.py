"""Live events."""

from __future__ import annotations

from kubeconnect.aio.event_stream import AsyncEventStream
from kubeconnect.events import Event
from kubeconnect.freshness import Freshness
from kubeconnect.reads import Source
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.watch_session import WatchSession


class AsyncWatch(AsyncEventStream[pb.WatchRequest, pb.WatchResponse, Event]):
    """A snapshot of a selection, and then every change to it.

    It begins with RESET, the snapshot as ADDED, and SYNCED; another RESET may
    come at any time, and means the same. What happens to objects of the snapshot before
    SYNCED comes between them, as MODIFIED and DELETED.
    """

    _session: WatchSession

    @property
    def freshness(self) -> Freshness | None:
        """How current the events are, as the service last told; it does so every few
        seconds. None before that. It is stale, too, from the loss of a stream until the
        service reports it again on the next one.
        """
        return self._session.freshness

    @property
    def source(self) -> Source | None:
        """Where the objects come from, as the service last told; it does so when a stream
        begins, and with each RESET. None before that.
        """
        return self._session.source

    @property
    def warnings(self) -> tuple[str, ...]:
        """For people: that the events cover some namespaces only, and objects for which the
        filter has no value. Sent when a stream begins, with each RESET, and when a warning
        becomes true; empty before that.
        """
        return self._session.warnings

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the events cover, where the caller asked for all and may not
        watch all of them. Empty: all, or not known yet.
        """
        return self._session.namespaces
