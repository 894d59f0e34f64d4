"""The state of a live page over all its streams, without any I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import datetime

from kubeconnect._errors import Internal, UnreadableObject
from kubeconnect._event_reader import DecodeEvent, decode_object
from kubeconnect._page_reader import PageReader
from kubeconnect._pages import AnyPage, PageObject, Place
from kubeconnect._requests import checked
from kubeconnect._stream_reader import StreamReader
from kubeconnect._watch_session import Session, now, selection
from kubeconnect.v1 import watch_pb2 as pb


class PageSession(Session[pb.WatchRequest, pb.WatchResponse, AnyPage]):
    """The state of a live page."""

    def __init__(
        self,
        request: pb.WatchRequest,
        place: Place,
        *,
        reconnect: bool = True,
        renews: bool = False,
        retry_budget: float = 0.0,
        decode: DecodeEvent = decode_object,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Begin with the page at a place of the caller's selection. See ``WatchSession``."""
        super().__init__(
            "",
            reconnect=reconnect,
            renews=renews,
            retry_budget=retry_budget,
            jitter=jitter,
            clock=clock,
        )
        self._request = request
        self._reader = PageReader(decode)
        self._place = self._open_place = place
        self._page: AnyPage | None = None  # as last returned
        self._next: AnyPage | None = None
        self._is_first = True
        self._request_of(place)  # raises for arguments of a wrong type

    def scroll(self, offset: int | None, after: PageObject | None, limit: int | None) -> None:
        """Go to another place, with the next stream."""
        place = self._place.moved(offset, after, limit)
        self._request_of(place)
        self._place = place

    @property
    def is_outdated(self) -> bool:
        """Whether the open stream is at another place."""
        return self._open_place is not self._place

    @property
    def request(self) -> pb.WatchRequest:
        """The request to send: for the page at the current place, after the page that was
        received.
        """
        return self._request_of(self._place)

    def open(self) -> pb.WatchRequest:
        """Begin a stream, and return the request to send on it. The first page at another place is
        returned also if it is the same.
        """
        if self.is_outdated:
            self._page = None
        self._open_place = place = self._place  # another thread may scroll meanwhile
        super().open()
        return self._request_of(place)

    def _request_of(self, place: Place) -> pb.WatchRequest:
        after = place.after
        request = checked(pb.WatchRequest)(
            limit=place.limit,
            offset=place.offset,
            after=after and checked(pb.ObjectName)(namespace=after.namespace, name=after.name),
        )
        request.MergeFrom(self._request)
        if self._resume_token:
            request.resume_token = self._resume_token
            request.min_resource_version = ""
        return request

    @property
    def selection(self) -> str:
        """The resource and namespace that the page is of."""
        return f"page of {selection(self._request)}"

    @property
    def reader(self) -> StreamReader:
        """What the service has reported of the stream."""
        return self._reader

    def receive(self, response: pb.WatchResponse) -> None:
        """Queue the page after a message for ``take``, if it has changed and is complete."""
        try:
            self._reader.read(response)
        except Internal:
            self._resume_token = ""
            raise
        self._note_received()
        self._resume_token = response.resume_token
        if response.resume_token:
            self._reset_failures()
        if self._reader.is_complete and not self.is_outdated and self._has_changed():
            self._next = self._page = self._reader.take()

    def _has_changed(self) -> bool:
        return self._page is None or self._reader.differs_from(self._page)

    def take(self) -> AnyPage | None:
        """Return the page after the last message; None if it was taken, or has not changed. Raises
        the error of an object that could not be decoded.
        """
        page, self._next = self._next, None
        if page is None:
            return None
        if self._is_first and not page.total:
            self._empty.append(self._request)
        self._is_first = False
        _check(page)
        return page

    def _readers(self) -> Iterable[StreamReader]:
        return (self._reader,)


def _check(page: AnyPage) -> None:
    for each in page.objects:
        if isinstance(each, UnreadableObject):
            raise each
