"""The events of a watch."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias

from kubeconnect._types import T
from kubeconnect.v1 import watch_pb2 as pb


class EventType(enum.Enum):
    """The type of an event."""

    ADDED = pb.EVENT_TYPE_ADDED
    """The object was created, has entered the selection, or is in the snapshot: store it, also
    if you have an object with this name."""
    MODIFIED = pb.EVENT_TYPE_MODIFIED
    """The object was changed, and was in the selection before."""
    DELETED = pb.EVENT_TYPE_DELETED
    """The object was deleted, or has left the selection: remove it if you have it. If that
    happened while the watch was disconnected, the object may have no content."""
    RESET = pb.EVENT_TYPE_RESET
    """Clear your copy: a snapshot follows, as ADDED, up to SYNCED. Concurrent changes of its
    objects are delivered as MODIFIED and DELETED: apply the events in order."""
    SYNCED = pb.EVENT_TYPE_SYNCED
    """The snapshot is complete."""
    BOOKMARK = pb.EVENT_TYPE_BOOKMARK
    """All changes up to this resource version have been delivered; sent every few seconds."""


ObjectEventType: TypeAlias = Literal[EventType.ADDED, EventType.MODIFIED, EventType.DELETED]
StreamEventType: TypeAlias = Literal[EventType.RESET, EventType.SYNCED, EventType.BOOKMARK]


@dataclass(frozen=True)
class ObjectEvent(Generic[T]):
    """A change of one object: ADDED, MODIFIED or DELETED."""

    type: ObjectEventType
    """The type of the event."""
    object: T
    """The object; for DELETED its last state."""
    resource_version: str
    """The version of the event. For DELETED it is newer than the object's version."""


@dataclass(frozen=True)
class StreamEvent:
    """A position in the stream of events, without an object: RESET, SYNCED or BOOKMARK."""

    type: StreamEventType
    """The type of the event."""
    resource_version: str | None
    """The version of a RESET's snapshot, or the version up to which the events are complete; None
    if the service sends none, as before the first snapshot. The version of a BOOKMARK is never
    older than the versions of the events since the last RESET."""
    object: None = field(default=None, init=False, repr=False)
    """Always None, so that ``event.object`` is whether an event has an object."""


Event: TypeAlias = ObjectEvent[T] | StreamEvent
"""An event of a watch. Type checkers know by its ``type`` whether it has an object."""
