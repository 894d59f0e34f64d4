"""What a watch tells."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kubeconnect.objects import Object
from kubeconnect.v1 import resource_service_pb2 as pb


class EventType(enum.Enum):
    """What has happened."""

    ADDED = pb.EVENT_TYPE_ADDED
    """The object was made, has entered the selection, or is in the snapshot: hold it, also
    where you hold one of this name."""
    MODIFIED = pb.EVENT_TYPE_MODIFIED
    """The object has changed, and is in the selection as before."""
    DELETED = pb.EVENT_TYPE_DELETED
    """The object was deleted, or has left the selection: drop it if you hold it. Where
    that happened while a watch was cut off, the object may come without content."""
    RESET = pb.EVENT_TYPE_RESET
    """Forget what you hold: a snapshot follows, as ADDED, up to SYNCED. What happens to its
    objects meanwhile comes as MODIFIED and DELETED: apply one event after another."""
    SYNCED = pb.EVENT_TYPE_SYNCED
    """The snapshot is complete."""
    BOOKMARK = pb.EVENT_TYPE_BOOKMARK
    """All that has happened up to this resource version was sent before; sent every few seconds."""


@dataclass(frozen=True)
class Event:
    """One step in the history of a selection."""

    type: EventType
    """What has happened."""
    object: Object | None
    """The object; None for RESET, SYNCED and BOOKMARK."""
    resource_version: str
    """The event's own version: for a DELETED it is newer than the object's. That of a
    BOOKMARK is never older than those of the events before it, back to the last RESET."""
