"""A live page."""

from __future__ import annotations

from kubeconnect._freshness import Freshness
from kubeconnect._page_session import PageSession
from kubeconnect._pages import Page, PageObject
from kubeconnect._types import T
from kubeconnect.aio._event_stream import AsyncEventStream
from kubeconnect.v1 import watch_pb2 as pb


class AsyncLivePage(AsyncEventStream[pb.WatchRequest, pb.WatchResponse, Page[T]]):
    """A page of a sorted selection, as it is now and after every change.

    Each step is the complete ``Page``, with what has changed since the step before. It is returned
    when the objects of the page, their order, or the ``total`` or ``offset`` change, and when
    ``freshness.stale`` changes. A page changes at most ten times a second.

    After a lost stream only the difference is sent. If the service has to send the page again, its
    ``changes`` are nevertheless those since the step before.
    """

    _session: PageSession

    @property
    def freshness(self) -> Freshness | None:
        """How current the page is, as last reported by the service, which reports it every few
        seconds. None before the first report. It is also stale from the loss of a stream until
        the first report on the next stream.
        """
        return self._session.reader.freshness

    async def scroll(
        self,
        *,
        offset: int | None = None,
        after: PageObject | None = None,
        limit: int | None = None,
    ) -> None:
        """Go to another page of the selection, which is the next step. Only the difference is sent.

        ``offset`` is the number of objects before the page, and ``after`` the object before the
        page: see ``live_page``. Without both, the page begins where it does now. ``limit`` is the
        maximum number of objects on the page; None for the same as now. May be called
        concurrently with the iteration.
        """
        self._session.scroll(offset, after, limit)
        await self._stream.close()
