"""What a watch knows about its streams, without any I/O.

The session says what to ask for, turns what comes back into events, and decides
what follows a failure. Whoever owns the connection only moves messages between
the two and waits as long as it is told.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from typing import Generic, TypeVar

import grpc

from kubeconnect.connection import Connection
from kubeconnect.errors import KubeconnectError, Unauthenticated, Unavailable
from kubeconnect.event_reader import EventReader
from kubeconnect.events import Event, EventType
from kubeconnect.freshness import Freshness
from kubeconnect.reads import Source
from kubeconnect.v1 import resource_service_pb2 as pb

Request = TypeVar("Request")
Response = TypeVar("Response")
Step = TypeVar("Step")

QUIET_SECONDS = 12.0
"""How long a stream may be silent after its first message. The service sends a message at
least every ten seconds, usually every five."""

FIRST_MESSAGE_SECONDS = 60.0
"""How long the first message of a stream may take: the service begins to hold a resource
with the first request for it, and that takes a while where there are many objects."""

FIRST_DELAY_SECONDS = 0.2
"""The longest wait after the first failure; it doubles with each further one."""

LONGEST_DELAY_SECONDS = 5.0
"""The longest wait between two calls, unless the service asks for more."""

MAX_STALENESS_SECONDS = 10.0
"""For how long a stream may be told that it is stale before another replica is tried."""

MOST_STALE_DOUBLINGS = 5
"""How often that time doubles, while the streams that follow are stale too: the API server may
be away for all replicas."""

_LOST = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}

# A connection that is reset ends its calls with these, and without a Status: what
# the service itself says has one.
_LOST_IF_UNTOLD = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}


def now() -> datetime:
    """Return the time by the clock of this host, in UTC."""
    return datetime.now(timezone.utc)


class Session(ABC, Generic[Request, Response, Step]):
    """The state of a stream of events that goes on. Not safe for concurrent use.

    Take all steps of one message before the next one is read, and before the
    stream is opened again.
    """

    def __init__(
        self,
        resume_token: str,
        *,
        reconnect: bool,
        renews: bool,
        max_staleness: float,
        patience: float,
        chance: Callable[[], float],
        clock: Callable[[], datetime],
    ) -> None:
        """Begin at the caller's token.

        With ``renews`` each stream is opened with a bearer token that is valid then.
        ``patience`` is for how many seconds a first stream that is refused may be opened
        again, when the service says. ``chance`` answers from [0, 1).
        """
        if not max_staleness > 0:
            raise ValueError(f"max_staleness must be more than 0 seconds, not {max_staleness}")
        self._max_staleness = max_staleness
        self._patience = patience
        self._stale_since: datetime | None = None
        self._stale_moves = 0  # since the last message that was not stale
        self._reconnect = reconnect
        self._renews = renews
        self._clock = clock
        self._connection = Connection(False, clock())
        self._stream_heard = False
        self._chance = chance
        self._events: deque[Event] = deque()
        self._resume_token = resume_token
        self._token_behind_events = ""
        self._heard = False
        self._failures = 0

    @property
    @abstractmethod
    def request(self) -> Request:
        """What to send now: the caller's request, and later what continues it."""

    @abstractmethod
    def receive(self, response: Response) -> None:
        """Make the steps of one message ready to be taken."""

    @abstractmethod
    def take(self) -> Step | None:
        """Return the next step that is ready; None if there is none."""

    @abstractmethod
    def _readers(self) -> Iterable[EventReader]:
        """Return what reads the messages."""

    def open(self) -> Request:
        """Return what to send on a stream that is about to be opened."""
        self._stream_heard = False
        return self.request

    @property
    def connection(self) -> Connection:
        """Whether messages come, and since when."""
        return self._connection

    @property
    def resume_token(self) -> str:
        """Where to continue behind the events that were taken; "" if nowhere."""
        return self._resume_token

    @property
    def quiet_seconds(self) -> float:
        """How long to wait for the next message of the stream."""
        return QUIET_SECONDS if self._stream_heard else FIRST_MESSAGE_SECONDS

    def delay_after(self, error: KubeconnectError) -> float | None:
        """Return after how many seconds to call again; None if the error is final.

        A watch that never began is tried again only where the service says when, so that a
        wrong address is told at once. Half of each wait is chance, so that callers that were cut
        off together do not come back together. Where the bearer token of a stream has
        ended, the stream is opened again at once, with a new one; one that is refused
        before anything has come is not.
        """
        self.lose_contact()
        expired = isinstance(error, Unauthenticated)
        if self._reconnect and self._renews and self._stream_heard and expired:
            return 0.0
        if not (self._reconnect and _may_pass(error)):
            return None
        if not self._heard:
            return self._delay_of_first(error)
        longest = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(self._failures, 10))
        self._failures += 1
        return max(longest * (0.5 + self._chance() / 2), float(error.retry_after_seconds))

    def _delay_of_first(self, error: KubeconnectError) -> float | None:
        delay = float(error.retry_after_seconds)
        if delay <= 0 or delay > self._patience:
            return None
        self._patience -= delay
        return delay

    def too_stale(self) -> KubeconnectError | None:
        """Return why to open the stream again, over another connection; None if not.

        Each replica that is stale too is given twice as long as the one before.
        """
        if self._stale_since is None or not self._reconnect:
            return None
        limit = self._max_staleness * 2.0 ** min(self._stale_moves, MOST_STALE_DOUBLINGS)
        if self._stale_moves > 0:
            limit *= 1 + self._chance() / 2
        if math.isinf(limit) or self._clock() - self._stale_since < timedelta(seconds=limit):
            return None
        self._stale_moves += 1
        self._stale_since = None
        return Unavailable(
            grpc.StatusCode.UNAVAILABLE, "the service has been stale for too long: another is tried"
        )

    def _note_staleness(self) -> None:
        told = [reader.told_stale for reader in self._readers()]
        if any(told):
            self._stale_since = self._stale_since or self._clock()
            return
        self._stale_since = None
        if any(stale is False for stale in told):
            self._stale_moves = 0

    def lose_contact(self) -> None:
        """Note that the stream is lost or closed."""
        self._stale_since = None
        if self._connection.connected:
            self._connection = Connection(False, self._clock())
        for reader in self._readers():
            reader.lose_contact()

    def _receive_events(self, events: Iterable[Event], token: str) -> None:
        self._heard = self._stream_heard = True
        if not self._connection.connected:
            self._connection = Connection(True, self._clock())
        self._note_staleness()
        self._events.extend(events)
        self._token_behind_events = token
        if not self._events:
            self._resume_token = token

    def _take_event(self) -> Event | None:
        if not self._events:
            return None
        event = self._events.popleft()
        if not self._events:
            self._resume_token = self._token_behind_events
        elif event.type is EventType.RESET:
            self._resume_token = ""
        return event

    def _got_on(self) -> None:
        """Forget the failures: the stream works."""
        self._failures = 0


class WatchSession(Session[pb.WatchRequest, pb.WatchResponse, Event]):
    """The state of one watch."""

    def __init__(
        self,
        request: pb.WatchRequest,
        *,
        reconnect: bool = True,
        renews: bool = False,
        max_staleness: float = MAX_STALENESS_SECONDS,
        patience: float = 0.0,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Begin with what the caller asked for; ``chance`` answers from [0, 1)."""
        super().__init__(
            request.resume_token,
            reconnect=reconnect,
            renews=renews,
            max_staleness=max_staleness,
            patience=patience,
            chance=chance,
            clock=clock,
        )
        self._request = request
        self._reader = EventReader(patches=bool(request.patches))

    @property
    def request(self) -> pb.WatchRequest:
        """What to send now: the caller's request, and later what continues it.

        Behind a token the version that the caller wanted to see has been reached.
        """
        if not self._heard:
            return self._request
        request = pb.WatchRequest()
        request.CopyFrom(self._request)
        request.resume_token = self._resume_token
        if request.resume_token:
            request.min_resource_version = ""
        return request

    @property
    def freshness(self) -> Freshness | None:
        """How current the events are; None before the service has said."""
        return self._reader.freshness

    @property
    def source(self) -> Source | None:
        """Where the objects come from, as last told; None before that."""
        return self._reader.source

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know of the stream, as last sent."""
        return self._reader.warnings

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the stream covers, as last sent; empty for all."""
        return self._reader.namespaces

    def receive(self, response: pb.WatchResponse) -> None:
        """Make the events of one message ready to be taken."""
        if response.resume_token:
            self._got_on()
        self._receive_events(self._reader.read(response), response.resume_token)

    def take(self) -> Event | None:
        """Return the next event that is ready; None if there is none."""
        return self._take_event()

    def _readers(self) -> Iterable[EventReader]:
        return (self._reader,)


def _may_pass(error: KubeconnectError) -> bool:
    """Whether the same call may succeed later."""
    if error.code in _LOST_IF_UNTOLD:
        return error.status is None
    if error.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return error.retry_after_seconds > 0
    return error.code in _LOST
