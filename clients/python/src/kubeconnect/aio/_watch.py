"""A watch of one selection."""

from __future__ import annotations

from kubeconnect._events import Event
from kubeconnect._freshness import Freshness
from kubeconnect._reads import Source
from kubeconnect._types import T
from kubeconnect._watch_session import WatchSession
from kubeconnect.aio._event_stream import AsyncResumableStream
from kubeconnect.v1 import watch_pb2 as pb


class AsyncWatch(AsyncResumableStream[pb.WatchRequest, pb.WatchResponse, Event[T]]):
    """A snapshot of a selection, followed by every change to it.

    A watch begins with RESET, the snapshot as ADDED, and SYNCED. Another RESET may follow at
    any time, with a new snapshot. Changes of objects before SYNCED are delivered
    between the objects of the snapshot, as MODIFIED and DELETED.
    """

    _session: WatchSession

    @property
    def freshness(self) -> Freshness | None:
        """How current the events are, as last reported by the service, which reports it every
        few seconds. None before the first report. It is also stale from the loss of a
        stream until the first report on the next stream.
        """
        return self._session.freshness

    @property
    def source(self) -> Source | None:
        """Where the objects are read, as last reported by the service: when a stream begins,
        and with each RESET. None before the first report.
        """
        return self._session.source

    @property
    def warnings(self) -> tuple[str, ...]:
        """Human-readable warnings: that the events cover only some namespaces, and objects for
        which the filter has no value. Sent when a stream begins, with each RESET, and when a
        warning begins to apply. Empty before the first one.
        """
        return self._session.warnings

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the events cover, if all were requested and the caller is not
        allowed to watch all of them. Empty if the events cover all namespaces, or before the
        first message.
        """
        return self._session.namespaces
