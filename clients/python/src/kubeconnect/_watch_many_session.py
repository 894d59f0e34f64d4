"""The state of several watches that share a stream, without any I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from kubeconnect._errors import UnreadableObject
from kubeconnect._event_reader import DecodeEvent, EventReader, decode_object
from kubeconnect._events import Event, EventType
from kubeconnect._freshness import Freshness
from kubeconnect._reads import Source
from kubeconnect._stream_reader import StreamReader
from kubeconnect._watch_session import (
    Session,
    ends_first_snapshot,
    now,
    selection,
)
from kubeconnect.v1 import watch_pb2 as pb

K = TypeVar("K", bound=Hashable)


class WatchManySession(
    Session[pb.WatchManyRequest, pb.WatchManyResponse, tuple[K, Event[Any]]], Generic[K]
):
    """The state of several watches, identified by the caller's keys."""

    def __init__(
        self,
        keys: Sequence[K],
        request: pb.WatchManyRequest,
        *,
        reconnect: bool = True,
        renews: bool = False,
        retry_budget: float = 0.0,
        decode: Sequence[DecodeEvent] | None = None,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Begin with the caller's request. ``keys`` has one key for each of its watches, and so
        has ``decode``: see ``WatchSession``.
        """
        super().__init__(
            request.resume_token,
            reconnect=reconnect,
            renews=renews,
            retry_budget=retry_budget,
            jitter=jitter,
            clock=clock,
        )
        self._keys = keys
        self._request = request
        self._each = [
            EventReader(patches=bool(watch.patch_format), decode=each)
            for watch, each in zip(
                request.watches, decode or [decode_object] * len(keys), strict=True
            )
        ]
        self._awaiting_events = set(range(len(keys)))
        self._within_snapshot: set[int] = set()
        self._in_first_snapshot = set(range(len(keys)))
        self._watch = 0  # the index of the watch whose events are ready

    @property
    def request(self) -> pb.WatchManyRequest:
        """The request to send: the caller's request at first, later a request that resumes it.

        A watch that is in sync has reached its ``min_resource_version``, which is then left
        out.
        """
        request = pb.WatchManyRequest()
        request.CopyFrom(self._request)
        request.resume_token = self._resume_token
        for index, watch in enumerate(request.watches):
            if index not in self._awaiting_events | self._within_snapshot:
                watch.min_resource_version = ""
        return request

    @property
    def selection(self) -> str:
        """The resources, with the namespaces and the names that are watched."""
        return ", ".join(map(selection, self._request.watches))

    @property
    def synced(self) -> bool:
        """Whether each watch has delivered an event, and none is within a snapshot."""
        return not self._awaiting_events | self._within_snapshot

    @property
    def freshness(self) -> dict[K, Freshness]:
        """How current the events are, of each watch for which the service has reported it."""
        reported = zip(self._keys, (reader.freshness for reader in self._each), strict=True)
        return {key: freshness for key, freshness in reported if freshness}

    @property
    def source(self) -> dict[K, Source]:
        """Where the objects of each watch are read, as last reported."""
        reported = zip(self._keys, (reader.source for reader in self._each), strict=True)
        return {key: source for key, source in reported if source}

    @property
    def warnings(self) -> dict[K, tuple[str, ...]]:
        """The human-readable warnings of each watch, as last sent."""
        return {key: reader.warnings for key, reader in zip(self._keys, self._each, strict=True)}

    @property
    def namespaces(self) -> dict[K, tuple[str, ...]]:
        """The namespaces that each watch covers, as last sent; empty for all."""
        return {key: reader.namespaces for key, reader in zip(self._keys, self._each, strict=True)}

    def receive(self, response: pb.WatchManyResponse) -> None:
        """Queue the events of one message, which are all of one watch, for ``take``."""
        self._watch = response.watch_index
        events = self._each[self._watch].read(response.response)
        self._receive_events(events, response.resume_token)

    def take(self) -> tuple[K, Event[Any]] | None:
        """Return the next queued event with its watch's key; None if there is none. Raises the
        error of an object that could not be decoded; the next call returns the event after it.
        """
        event = self._take_event()
        if event is None:
            return None
        self._update_progress(event)
        if self._watch in self._in_first_snapshot and ends_first_snapshot(event):
            self._in_first_snapshot.discard(self._watch)
            if event.type is EventType.SYNCED:
                self._empty.append(self._request.watches[self._watch])
        if isinstance(event.object, UnreadableObject):
            raise event.object
        return self._keys[self._watch], event

    def _readers(self) -> Iterable[StreamReader]:
        return self._each

    def _update_progress(self, event: Event) -> None:
        """Update the progress of the watches, and reset the failures when all are in sync.

        A resume token does not show that, because messages within snapshots have one too. A
        BOOKMARK without a version is sent while the first snapshot is being prepared.
        """
        if event.type is EventType.BOOKMARK and event.resource_version is None:
            return
        self._awaiting_events.discard(self._watch)
        if event.type is EventType.RESET:
            self._within_snapshot.add(self._watch)
        elif event.type is EventType.SYNCED:
            self._within_snapshot.discard(self._watch)
        if self.synced:
            self._reset_failures()
