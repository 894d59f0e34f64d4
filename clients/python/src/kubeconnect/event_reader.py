"""From the API's messages to events."""

from __future__ import annotations

from dataclasses import replace

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
        self._told_stale: bool | None = None  # by this stream
        self._source: Source | None = None
        self._warnings: tuple[str, ...] = ()  # sent with the kind
        self._later_warnings: tuple[str, ...] = ()  # sent last since then
        self._namespaces: tuple[str, ...] = ()
        self._heard = False
        self._version = ""  # the newest one since the last RESET

    @property
    def freshness(self) -> Freshness | None:
        """What the service last said; None before it did. It is stale from the loss of a
        stream until the service says again how current it is.
        """
        return self._freshness

    @property
    def told_stale(self) -> bool | None:
        """Whether the service says, on this stream, that it is stale; None before it has said."""
        return self._told_stale

    @property
    def source(self) -> Source | None:
        """Where the objects come from, as last told; None before that."""
        return self._source

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know of the stream: sent with its kind, and last after that."""
        return self._warnings + self._later_warnings

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the stream covers, as last sent; empty for all."""
        return self._namespaces

    def lose_contact(self) -> None:
        """Note that the stream was lost: what was received is not current any more."""
        self._told_stale = None
        if self._freshness is not None:
            self._freshness = replace(self._freshness, stale=True)
        elif self._heard:
            self._freshness = Freshness(stale=True, last_contact=None)

    def read(self, response: pb.WatchResponse) -> list[Event]:
        """Return the events of one message.

        Types that this version of the client does not know are left out, so that
        the service can learn to say more.
        """
        self._heard = True
        self._read_coverage(response)
        if response.HasField("kind"):
            self._kind = ResourceKind.from_message(response.kind)
            self._source = Source.from_message(response.source)
        if response.HasField("freshness"):
            self._freshness = Freshness.from_message(response.freshness)
            self._told_stale = response.freshness.stale
        return [self._event(event) for event in response.events if event.type in _TYPES]

    def _read_coverage(self, response: pb.WatchResponse) -> None:
        """Read what the stream covers. A response with the kind has all of it. Any other
        one may have what has changed; the warnings of an earlier one are dropped then, so
        that they do not grow without end.
        """
        warnings, namespaces = tuple(response.warnings), tuple(response.namespaces)
        if response.HasField("kind"):
            self._warnings, self._later_warnings, self._namespaces = warnings, (), namespaces
            return
        self._later_warnings = warnings or self._later_warnings
        self._namespaces = namespaces or self._namespaces

    def _event(self, event: pb.Event) -> Event:
        if self._held is not None:
            event = self._held.whole(event)
        subject = Object(event.object, self._kind) if event.HasField("object") else None
        return Event(_TYPES[event.type], subject, self._version_of(event))

    def _version_of(self, event: pb.Event) -> str:
        """Return the event's version; for a BOOKMARK the newest one since the last RESET.

        A deletion may have a version that is newer than that of the BOOKMARK after
        it. A program that keeps the version of the last event must not go back.
        """
        if event.type == pb.EVENT_TYPE_RESET:
            self._version = ""
            return event.resource_version
        self._version = newer(self._version, event.resource_version)
        return self._version if event.type == pb.EVENT_TYPE_BOOKMARK else event.resource_version


def newer(version: str, other: str) -> str:
    """Return the newer one of two resource versions; ``other`` where they have no order.

    A BOOKMARK of a stream that waits for a first snapshot has none.
    """
    if not other:
        return version
    if not (version.isdecimal() and other.isdecimal()):
        return other
    return version if int(version) > int(other) else other
