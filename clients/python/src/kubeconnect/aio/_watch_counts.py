"""A watch of counts."""

from __future__ import annotations

from kubeconnect._counts import CountResult
from kubeconnect._counts_session import CountsSession
from kubeconnect._freshness import Freshness
from kubeconnect.aio._event_stream import AsyncEventStream
from kubeconnect.v1 import watch_counts_pb2 as pb


class AsyncWatchCounts(
    AsyncEventStream[pb.WatchCountsRequest, pb.WatchCountsResponse, CountResult]
):
    """The counts of a selection, as they are now and after every change.

    Each step is the complete ``CountResult``, the same as that of ``count`` at that version. It is
    returned when the numbers change, and when ``freshness.stale`` changes. After a lost stream
    the service counts again.
    """

    _session: CountsSession

    @property
    def freshness(self) -> Freshness | None:
        """How current the counts are, as last reported by the service, which reports it every few
        seconds. None before the first report. It is also stale from the loss of a stream until
        the first report on the next stream.
        """
        return self._session.reader.freshness
