"""What a watch knows about its stream, without any I/O.

The session says what to ask for, and turns what comes back into events. Whoever
owns the connection only moves messages between the two; so asking again behind
a broken stream is a matter of this file alone.
"""

from __future__ import annotations

from kubeconnect.events import Event, EventType
from kubeconnect.objects import Object, ResourceKind
from kubeconnect.v1 import resource_service_pb2 as pb

_TYPES: dict[int, EventType] = {type.value: type for type in EventType}


class WatchSession:
    """The state of one watch. Not safe for concurrent use."""

    def __init__(self, request: pb.WatchRequest) -> None:
        """Begin with what the caller asked for."""
        self._request = request
        self._kind = ResourceKind.from_message(pb.WatchResponse().kind)

    @property
    def request(self) -> pb.WatchRequest:
        """What to send in order to begin."""
        return self._request

    def receive(self, response: pb.WatchResponse) -> list[Event]:
        """Return the events of one batch, in order.

        Types that this version of the client does not know are left out, so that
        the service can learn to say more.
        """
        if response.HasField("kind"):
            self._kind = ResourceKind.from_message(response.kind)
        return [self._event(event) for event in response.events if event.type in _TYPES]

    def _event(self, event: pb.Event) -> Event:
        subject = Object(event.object, self._kind) if event.HasField("object") else None
        return Event(_TYPES[event.type], subject, event.resource_version)
