"""Conversion of the API's messages to events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import grpc

from kubeconnect._errors import Internal
from kubeconnect._events import (
    Event,
    EventType,
    ObjectEvent,
    ObjectEventType,
    StreamEvent,
    StreamEventType,
)
from kubeconnect._objects import Object, Resource
from kubeconnect._patches import ObjectCache
from kubeconnect._stream_reader import StreamReader
from kubeconnect.v1 import watch_pb2 as pb

_OF_OBJECTS: tuple[ObjectEventType, ...] = (EventType.ADDED, EventType.MODIFIED, EventType.DELETED)
_OF_STREAMS: tuple[StreamEventType, ...] = (EventType.RESET, EventType.SYNCED, EventType.BOOKMARK)
_OBJECT_TYPES: dict[int, ObjectEventType] = {type.value: type for type in _OF_OBJECTS}
_STREAM_TYPES: dict[int, StreamEventType] = {type.value: type for type in _OF_STREAMS}


DecodeEvent: TypeAlias = Callable[[pb.Event, Resource], Any]


def decode_object(event: pb.Event, resource: Resource) -> Object:
    """Return the object of an event."""
    return Object(event.object, resource)


class EventReader(StreamReader):
    """Reads the messages of one watch, over all its streams. Not safe for concurrent use."""

    def __init__(self, *, patches: bool, decode: DecodeEvent = decode_object) -> None:
        """Begin before the first message. With ``patches``, events may contain patches.

        ``decode`` returns the object of an event.
        """
        super().__init__()
        self._decode = decode
        self._objects = ObjectCache() if patches else None
        self._version = ""  # the newest one since the last RESET

    def read(self, response: pb.WatchResponse) -> list[Event[Any]]:
        """Return the events of one message.

        Events of types that this version of the client does not know are skipped, so that
        new types can be added to the service. Raises Internal if the object of a change is
        missing.
        """
        self.read_state(response)
        return list(self._events(response.events))

    def _events(self, messages: Iterable[pb.Event]) -> Iterator[Event[Any]]:
        for message in messages:
            if (type := _OBJECT_TYPES.get(message.type)) is not None:
                yield self._object_event(type, message)
            elif (mark := _STREAM_TYPES.get(message.type)) is not None:
                yield self._stream_event(mark, message)

    def _object_event(self, type: ObjectEventType, message: pb.Event) -> ObjectEvent[Any]:
        if not message.HasField("object"):
            problem = f"invalid response: {type.name} without an object"
            raise Internal(grpc.StatusCode.INTERNAL, problem)
        if self._objects is not None:
            message = self._objects.complete(message)
        subject = self._decode(message, self.resource)
        return ObjectEvent(type, subject, self._version_of(message))

    def _stream_event(self, type: StreamEventType, message: pb.Event) -> StreamEvent:
        if self._objects is not None:
            self._objects.complete(message)
        return StreamEvent(type, self._version_of(message) or None)

    def _version_of(self, event: pb.Event) -> str:
        """Return the event's version; for a BOOKMARK the newest version since the last RESET.

        A deletion may have a newer version than the BOOKMARK after it. The version of the
        last event, which a program may store, must not decrease.
        """
        if event.type == pb.EVENT_TYPE_RESET:
            self._version = ""
            return event.resource_version
        self._version = newer(self._version, event.resource_version)
        return self._version if event.type == pb.EVENT_TYPE_BOOKMARK else event.resource_version


def newer(version: str, other: str) -> str:
    """Return the newer of two resource versions; ``other`` if they cannot be compared.

    ``other`` may be "": a BOOKMARK has no version before the stream's first snapshot.
    """
    if not other:
        return version
    if not (version.isdecimal() and other.isdecimal()):
        return other
    return version if int(version) > int(other) else other
