"""From the API's messages to events."""

from __future__ import annotations

from kubeconnect.events import Event, EventType
from kubeconnect.freshness import Freshness
from kubeconnect.objects import Object, ResourceKind
from kubeconnect.patches import HeldObjects
from kubeconnect.reads import Source
from kubeconnect.v1 import resource_service_pb2 as pb

_TYPES: dict[int, EventType] = {type.value: type for type in EventType}


class EventReader:
    """Reads what one watch is told, over all its streams. Not safe for concurrent use."""

    def __init__(self, *, patches: bool) -> None:
        """Begin where nothing was told; with ``patches`` these may come."""
        self._kind = ResourceKind.from_message(pb.WatchResponse().kind)
        self._held = HeldObjects() if patches else None
        self._freshness: Freshness | None = None
        self._source: Source | None = None

    @property
    def freshness(self) -> Freshness | None:
        """What the service last told; None before it did."""
        return self._freshness

    @property
    def source(self) -> Source | None:
        """Where the objects come from, as last told; None before that."""
        return self._source

    def read(self, response: pb.WatchResponse) -> list[Event]:
        """Return the events of one message.

        Types that this version of the client does not know are left out, so that
        the service can learn to say more.
        """
        if response.HasField("kind"):
            self._kind = ResourceKind.from_message(response.kind)
            self._source = Source.from_message(response.source)
        if response.HasField("freshness"):
            self._freshness = Freshness.from_message(response.freshness)
        return [self._event(event) for event in response.events if event.type in _TYPES]

    def _event(self, event: pb.Event) -> Event:
        if self._held is not None:
            event = self._held.whole(event)
        subject = Object(event.object, self._kind) if event.HasField("object") else None
        return Event(_TYPES[event.type], subject, event.resource_version)
