"""The state of a watch over all its streams, without any I/O.

A session creates the requests, converts the responses to events, and decides how to
continue after a failure. The owner of the connection only passes messages between the
service and the session, and waits for the delays that the session returns.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import Any, Generic, TypeAlias, TypeVar

import grpc

from kubeconnect._connection import Connection
from kubeconnect._errors import (
    InvalidArgument,
    KubeconnectError,
    Unauthenticated,
    UnreadableObject,
)
from kubeconnect._event_reader import DecodeEvent, EventReader, decode_object
from kubeconnect._events import Event, EventType
from kubeconnect._freshness import Freshness
from kubeconnect._reads import Source
from kubeconnect._stream_reader import StreamReader
from kubeconnect.v1 import watch_pb2 as pb

Request = TypeVar("Request")
Response = TypeVar("Response")
Step = TypeVar("Step")
Watched: TypeAlias = pb.WatchRequest | pb.WatchSpec

QUIET_SECONDS = 12.0
"""The time for which a stream may be silent after its first message. The service sends a
message at least every ten seconds, usually every five."""

FIRST_MESSAGE_SECONDS = 60.0
"""The time that the first message of a stream may take. The service fills the cache of a
resource at the first request for it, which takes a while if there are many objects."""

FIRST_DELAY_SECONDS = 0.2
"""The maximum delay after the first failure. It doubles with each further failure."""

MAX_DELAY_SECONDS = 5.0
"""The maximum delay between two calls, unless the service asks for a longer one."""

_RETRYABLE = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}

# The codes of calls on a connection that was reset. These errors have no Status, while
# errors of the service have one.
_RETRYABLE_WITHOUT_STATUS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}


def now() -> datetime:
    """Return the time by the clock of this host, in UTC."""
    return datetime.now(timezone.utc)


class Session(ABC, Generic[Request, Response, Step]):
    """The state of an event stream that reconnects. Not safe for concurrent use.

    Take all steps of a message before the next message is read, and before the stream is
    opened again.
    """

    def __init__(
        self,
        resume_token: str,
        *,
        reconnect: bool,
        renews: bool,
        retry_budget: float,
        jitter: Callable[[], float],
        clock: Callable[[], datetime],
    ) -> None:
        """Begin at the caller's resume token.

        With ``renews``, a later stream may present other credentials. ``retry_budget`` is
        the number of seconds for which a rejected first stream may be retried, with the
        service's retry delays. ``jitter`` returns random numbers in [0, 1).
        """
        self._retry_budget = retry_budget
        self._reconnect = reconnect
        self._renews = renews
        self._clock = clock
        self._connection = Connection(False, clock())
        self._stream_received = False
        self._jitter = jitter
        self._events: deque[Event[Any]] = deque()
        self._empty: list[Watched] = []  # first snapshots without objects, for ``take_empty``
        self._resume_token = resume_token
        self._token_after_events = ""
        self._received = False
        self._failures = 0

    @property
    @abstractmethod
    def request(self) -> Request:
        """The request to send: the caller's request at first, later a request that resumes it."""

    def take_empty(self) -> Watched | None:
        """Return the selection whose first snapshot had no objects, once after its SYNCED was
        taken; None if there is none.
        """
        return self._empty.pop() if self._empty else None

    @property
    @abstractmethod
    def selection(self) -> str:
        """What is watched, for people: "pods demo/web"."""

    @abstractmethod
    def receive(self, response: Response) -> None:
        """Queue the steps of one message for ``take``."""

    @abstractmethod
    def take(self) -> Step | None:
        """Return the next queued step; None if there is none."""

    @abstractmethod
    def _readers(self) -> Iterable[StreamReader]:
        """Return the readers of the messages."""

    @property
    def is_finite(self) -> bool:
        """Whether the end of a stream is the end of the iteration."""
        return False

    @property
    def is_outdated(self) -> bool:
        """Whether the open stream must be replaced by another one, because the request to send is
        not that of the open stream any more.
        """
        return False

    def open(self) -> Request:
        """Begin a stream, and return the request to send on it."""
        self._stream_received = False
        return self.request

    @property
    def connection(self) -> Connection:
        """Whether the stream is connected, and since when."""
        return self._connection

    @property
    def resume_token(self) -> str | None:
        """The token to resume with after the events that were taken; None if resuming is not
        possible.
        """
        return self._resume_token or None

    @property
    def quiet_seconds(self) -> float:
        """The maximum time to wait for the next message of the stream."""
        return QUIET_SECONDS if self._stream_received else FIRST_MESSAGE_SECONDS

    def delay_after(self, error: KubeconnectError) -> float | None:
        """Return the number of seconds after which to call again; None if the error is final.

        The first stream of a watch is retried only if the service sent a retry delay, so that
        a wrong address is reported immediately. Half of each delay is random, so that callers
        that were disconnected together do not reconnect together.

        Credentials that can be renewed may be renewed after they have expired: a later stream
        that is rejected as unauthenticated is opened again, the first time immediately. A resume
        token that the service does not accept is dropped, so that the next stream begins with a
        snapshot.
        """
        self.mark_lost()
        if not self._reconnect:
            return None
        if isinstance(error, InvalidArgument) and self._drop_token():
            return 0.0
        if isinstance(error, Unauthenticated) and self._renews and self._received:
            return 0.0 if self._stream_received else self._later_delay(error)
        if not _is_retryable(error):
            return None
        return self._later_delay(error) if self._received else self._first_stream_delay(error)

    def _drop_token(self) -> bool:
        """Drop the resume token of a stream that was rejected. Return whether it had one."""
        if self._stream_received or not self._resume_token:
            return False
        self._resume_token = ""
        return True

    def _later_delay(self, error: KubeconnectError) -> float:
        longest = min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(self._failures, 10))
        self._failures += 1
        return max(longest * (0.5 + self._jitter() / 2), float(error.retry_after_seconds or 0))

    def _first_stream_delay(self, error: KubeconnectError) -> float | None:
        delay = error.retry_after_seconds
        if delay is None or delay > self._retry_budget:
            return None
        self._retry_budget -= delay
        return float(delay)

    def mark_lost(self) -> None:
        """Mark the stream as disconnected and the events as stale, because it is lost or closed."""
        if self._connection.connected:
            self._connection = Connection(False, self._clock())
        for reader in self._readers():
            reader.mark_lost()

    def _note_received(self) -> None:
        """Note that a message was received and read."""
        self._received = self._stream_received = True
        if not self._connection.connected:
            self._connection = Connection(True, self._clock())

    def _receive_events(self, events: Iterable[Event[Any]], token: str) -> None:
        self._note_received()
        self._events.extend(events)
        self._token_after_events = token
        if not self._events:
            self._resume_token = token

    def _take_event(self) -> Event[Any] | None:
        if not self._events:
            return None
        event = self._events.popleft()
        if not self._events:
            self._resume_token = self._token_after_events
        elif event.type is EventType.RESET:
            self._resume_token = ""
        return event

    def _reset_failures(self) -> None:
        """Reset the failures, because the stream works."""
        self._failures = 0


class WatchSession(Session[pb.WatchRequest, pb.WatchResponse, Event[Any]]):
    """The state of one watch."""

    def __init__(
        self,
        request: pb.WatchRequest,
        *,
        reconnect: bool = True,
        renews: bool = False,
        retry_budget: float = 0.0,
        decode: DecodeEvent = decode_object,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Begin with the caller's request. ``decode`` returns the object of an event, or the
        error of an object that cannot be decoded. ``jitter`` returns random numbers in [0, 1).
        """
        super().__init__(
            request.resume_token,
            reconnect=reconnect,
            renews=renews,
            retry_budget=retry_budget,
            jitter=jitter,
            clock=clock,
        )
        self._request = request
        self._reader = EventReader(patches=bool(request.patch_format), decode=decode)
        self._in_first_snapshot = True

    @property
    def request(self) -> pb.WatchRequest:
        """The request to send: the caller's request at first, later a request that resumes it.

        A token is newer than the caller's ``min_resource_version``, which is then left out.
        """
        request = pb.WatchRequest()
        request.CopyFrom(self._request)
        request.resume_token = self._resume_token
        if self._received and request.resume_token:
            request.min_resource_version = ""
        return request

    @property
    def selection(self) -> str:
        """The resource, with the namespace and the name that are watched."""
        return selection(self._request)

    @property
    def freshness(self) -> Freshness | None:
        """How current the events are; None before the service has reported it."""
        return self._reader.freshness

    @property
    def source(self) -> Source | None:
        """Where the objects are read, as last reported; None before the first report."""
        return self._reader.source

    @property
    def warnings(self) -> tuple[str, ...]:
        """The human-readable warnings of the stream, as last sent."""
        return self._reader.warnings

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the stream covers, as last sent; empty for all."""
        return self._reader.namespaces

    def receive(self, response: pb.WatchResponse) -> None:
        """Queue the events of one message for ``take``."""
        if response.resume_token:
            self._reset_failures()
        self._receive_events(self._reader.read(response), response.resume_token)

    def take(self) -> Event[Any] | None:
        """Return the next queued event; None if there is none. Raises the error of an object that
        could not be decoded; the next call returns the event after it.
        """
        event = self._take_event()
        if event is not None and self._in_first_snapshot:
            self._in_first_snapshot = not ends_first_snapshot(event)
            if event.type is EventType.SYNCED:
                self._empty.append(self._request)
        if event is not None and isinstance(event.object, UnreadableObject):
            raise event.object
        return event

    def _readers(self) -> Iterable[StreamReader]:
        return (self._reader,)


def ends_first_snapshot(event: Event) -> bool:
    """Return whether the first snapshot has an object, or ends without any."""
    return event.object is not None or event.type is EventType.SYNCED


def selection(watch: Watched) -> str:
    """Return what is watched, for people: "pods", "pods demo", "pods demo/web", "nodes n1"."""
    where = f"{watch.namespace}/{watch.name}" if watch.namespace and watch.name else ""
    return f"{watch.resource} {where or watch.namespace or watch.name}".rstrip()


def _is_retryable(error: KubeconnectError) -> bool:
    """Return whether the same call may succeed later."""
    if error.code in _RETRYABLE_WITHOUT_STATUS:
        return error.status is None
    if error.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return error.retry_after_seconds is not None
    return error.code in _RETRYABLE
