"""What several watches know about their one stream, without any I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from kubeconnect.event_reader import EventReader
from kubeconnect.events import Event, EventType
from kubeconnect.freshness import Freshness
from kubeconnect.reads import Source
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.watch_session import MAX_STALENESS_SECONDS, Session, now

K = TypeVar("K", bound=Hashable)


class WatchManySession(
    Session[pb.WatchManyRequest, pb.WatchManyResponse, tuple[K, Event]], Generic[K]
):
    """The state of several watches, which are told apart by the caller's keys."""

    def __init__(
        self,
        keys: Sequence[K],
        request: pb.WatchManyRequest,
        *,
        reconnect: bool = True,
        renews: bool = False,
        max_staleness: float = MAX_STALENESS_SECONDS,
        patience: float = 0.0,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Begin with what the caller asked for, a key for each watch."""
        super().__init__(
            request.resume_token,
            reconnect=reconnect,
            renews=renews,
            max_staleness=max_staleness,
            patience=patience,
            chance=chance,
            clock=clock,
        )
        self._keys = keys
        self._request = request
        self._each = [EventReader(patches=bool(watch.patches)) for watch in request.watches]
        self._untold = set(range(len(keys)))
        self._within_snapshot: set[int] = set()
        self._watch = 0  # whose events are ready

    @property
    def request(self) -> pb.WatchManyRequest:
        """What to send now: the caller's request, and later what continues it.

        A watch that is in sync has reached the version that the caller wanted to see.
        """
        if not self._heard:
            return self._request
        request = pb.WatchManyRequest()
        request.CopyFrom(self._request)
        request.resume_token = self._resume_token
        for place, watch in enumerate(request.watches):
            if place not in self._untold | self._within_snapshot:
                watch.min_resource_version = ""
        return request

    @property
    def synced(self) -> bool:
        """Whether each watch has told something, and none is within a snapshot."""
        return not self._untold | self._within_snapshot

    @property
    def freshness(self) -> dict[K, Freshness]:
        """How current the events of each watch are, of which the service has said that."""
        told = zip(self._keys, (reader.freshness for reader in self._each), strict=True)
        return {key: freshness for key, freshness in told if freshness}

    @property
    def source(self) -> dict[K, Source]:
        """Where the objects of each watch come from, as last told."""
        told = zip(self._keys, (reader.source for reader in self._each), strict=True)
        return {key: source for key, source in told if source}

    @property
    def warnings(self) -> dict[K, tuple[str, ...]]:
        """What people should know of each watch, as last sent."""
        return {key: reader.warnings for key, reader in zip(self._keys, self._each, strict=True)}

    @property
    def namespaces(self) -> dict[K, tuple[str, ...]]:
        """The namespaces that each watch covers, as last sent; empty for all."""
        return {key: reader.namespaces for key, reader in zip(self._keys, self._each, strict=True)}

    def receive(self, response: pb.WatchManyResponse) -> None:
        """Make the events of one message, all of one watch, ready to be taken."""
        self._watch = response.watch
        events = self._each[self._watch].read(response.response)
        self._receive_events(events, response.resume_token)

    def take(self) -> tuple[K, Event] | None:
        """Return the next event that is ready, with its watch's key; None if there is none."""
        event = self._take_event()
        if event is None:
            return None
        self._note(event.type)
        return self._keys[self._watch], event

    def _readers(self) -> Iterable[EventReader]:
        return self._each

    def _note(self, type: EventType) -> None:
        """Learn from an event whether all goes well.

        That there is a token is no sign of it: there is one within snapshots too.
        """
        self._untold.discard(self._watch)
        if type is EventType.RESET:
            self._within_snapshot.add(self._watch)
        elif type is EventType.SYNCED:
            self._within_snapshot.discard(self._watch)
        if self.synced:
            self._got_on()
