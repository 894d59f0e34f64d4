"""What a watch knows about its streams, without any I/O.

The session says what to ask for, turns what comes back into events, and decides
what follows a failure. Whoever owns the connection only moves messages between
the two and waits as long as it is told.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import grpc

from kubeconnect.errors import KubeconnectError
from kubeconnect.events import Event, EventType
from kubeconnect.freshness import Freshness
from kubeconnect.objects import Object, ResourceKind
from kubeconnect.patches import HeldObjects
from kubeconnect.v1 import resource_service_pb2 as pb

QUIET_SECONDS = 30.0
"""How long a stream may be silent. The service promises a message every ten seconds."""

FIRST_DELAY_SECONDS = 0.2
"""The longest wait after the first failure; it doubles with each further one."""

LONGEST_DELAY_SECONDS = 5.0
"""The longest wait between two calls, unless the service asks for more."""

_TYPES: dict[int, EventType] = {type.value: type for type in EventType}

_LOST = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}

# A connection that is reset ends its calls with these, and without a Status: what
# the service itself says has one.
_LOST_IF_UNTOLD = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}


class WatchSession:
    """The state of one watch. Not safe for concurrent use.

    Take all events of one message before the next one is read, and before the
    stream is opened again.
    """

    def __init__(
        self,
        request: pb.WatchRequest,
        *,
        reconnect: bool = True,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Begin with what the caller asked for; ``chance`` answers from [0, 1)."""
        self._request = request
        self._reconnect = reconnect
        self._chance = chance
        self._kind = ResourceKind.from_message(pb.WatchResponse().kind)
        self._events: deque[Event] = deque()
        self._held = HeldObjects() if request.patches else None
        self._resume_token = request.resume_token
        self._token_behind_events = ""
        self._freshness: Freshness | None = None
        self._heard = False
        self._failures = 0

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
    def resume_token(self) -> str:
        """Where to continue behind the events that were taken; "" if nowhere."""
        return self._resume_token

    @property
    def freshness(self) -> Freshness | None:
        """What the service last told; None before it did."""
        return self._freshness

    @property
    def quiet_seconds(self) -> float | None:
        """How long to wait for the next message; None for as long as it takes.

        The very first one may take long, for the service begins to hold a resource
        when somebody asks for it.
        """
        return QUIET_SECONDS if self._heard else None

    def receive(self, response: pb.WatchResponse) -> None:
        """Make the events of one message ready to be taken.

        Types that this version of the client does not know are left out, so that
        the service can learn to say more.
        """
        self._heard = True
        if response.HasField("kind"):
            self._kind = ResourceKind.from_message(response.kind)
        if response.HasField("freshness"):
            self._freshness = Freshness.from_message(response.freshness)
        if response.resume_token:
            self._failures = 0
        self._events.extend(self._event(event) for event in response.events if event.type in _TYPES)
        self._token_behind_events = response.resume_token
        if not self._events:
            self._resume_token = response.resume_token

    def take(self) -> Event | None:
        """Return the next event that is ready; None if there is none."""
        if not self._events:
            return None
        event = self._events.popleft()
        if not self._events:
            self._resume_token = self._token_behind_events
        elif event.type is EventType.RESET:
            self._resume_token = ""
        return event

    def delay_after(self, error: KubeconnectError) -> float | None:
        """Return after how many seconds to call again; None if the error is final.

        A watch that never began is not tried again, so that a wrong address is
        told at once. Half of each wait is chance, so that callers that were cut
        off together do not come back together.
        """
        if not (self._reconnect and self._heard and _may_pass(error)):
            return None
        longest = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(self._failures, 10))
        self._failures += 1
        return max(longest * (0.5 + self._chance() / 2), float(error.retry_after_seconds))

    def _event(self, event: pb.Event) -> Event:
        if self._held is not None:
            event = self._held.whole(event)
        subject = Object(event.object, self._kind) if event.HasField("object") else None
        return Event(_TYPES[event.type], subject, event.resource_version)


def _may_pass(error: KubeconnectError) -> bool:
    """Whether the same call may succeed later."""
    if error.code in _LOST_IF_UNTOLD:
        return error.status is None
    if error.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return error.retry_after_seconds > 0
    return error.code in _LOST
