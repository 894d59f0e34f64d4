"""The objects of a store, as it keeps them: encoded."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from google.protobuf.message import Message

from kubeconnect._errors import UnreadableObject
from kubeconnect._field_paths import FieldPath
from kubeconnect._kinds import KindMessage
from kubeconnect._messages import expected_error, identity, parse
from kubeconnect._objects import Object, Resource
from kubeconnect.v1 import object_pb2, watch_pb2


class PackedObject:
    """An object as a message of ``kubeconnect.k8s`` that is not decoded.

    It is much smaller than the message, and each ``message`` is a copy that the caller may change.
    """

    __slots__ = (
        "_cls",
        "_raw",
        "error",
        "name",
        "namespace",
        "resource",
        "resource_version",
        "uid",
    )

    def __init__(
        self, message: object_pb2.Object, resource: Resource, cls: type[KindMessage]
    ) -> None:
        """Copy the fields of the API's message. ``cls`` is the class of the object."""
        self.resource = resource
        self.namespace: str | None = message.namespace or None
        self.name = message.name
        self.uid = message.uid
        self.resource_version = message.resource_version
        self.error = expected_error(cls, message, resource)
        self._raw = message.protobuf
        self._cls = cls

    @property
    def raw(self) -> bytes:
        """The message as protobuf."""
        return self._raw

    def message(self) -> KindMessage:
        """Return the object as a message. Raises UnreadableObject if it cannot be read."""
        if self.error:
            raise self.error.with_traceback(None)
        return parse(self._cls, self.name, self._raw)

    def last_state(self) -> KindMessage:
        """Return the object as a message, which has only its identity if it cannot be read."""
        try:
            return self.message()
        except UnreadableObject:
            version = self.resource_version
            return identity(self._cls, self.namespace or "", self.name, self.uid, version)

    def __repr__(self) -> str:
        """Return the kind and name of the object without its content, which may be secret."""
        path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"<{self._cls.__name__} {path}>"


Stored: TypeAlias = Object | PackedObject
"""An object of a store, which must not be decoded."""

Keep: TypeAlias = Callable[[object_pb2.Object, Resource], Stored]
"""Returns what a store keeps of the API's message."""


def keep_as(resource: str | type[KindMessage]) -> Keep:
    """Return the function that returns what the store of a resource keeps."""
    if isinstance(resource, str):
        return Object
    return lambda message, kind: PackedObject(message, kind, resource)


def event_keeper(keep: Keep) -> Callable[[watch_pb2.Event, Resource], Stored]:
    """Return the function that returns what a store keeps of an event."""
    return lambda event, resource: keep(event.object, resource)


def unpack(stored: Stored) -> Any:
    """Return the object for a reader, who may change it: a copy that is decoded on access, or a
    message. Raises UnreadableObject for a message that cannot be read.
    """
    return copy.copy(stored) if isinstance(stored, Object) else stored.message()


def unpack_last(stored: Stored) -> Any:
    """Return the last state of an object, which may have no content."""
    return copy.copy(stored) if isinstance(stored, Object) else stored.last_state()


def values_at(path: FieldPath, unpacked: Object | KindMessage) -> list[Any]:
    """Return the values at a path of an object that was unpacked."""
    return path.values(unpacked.to_dict() if isinstance(unpacked, Object) else unpacked)


def to_message(stored: Stored) -> object_pb2.Object:
    """Return the API's message of which the object was made."""
    message = object_pb2.Object(
        namespace=stored.namespace or "",
        name=stored.name,
        uid=stored.uid,
        resource_version=stored.resource_version,
    )
    if stored.error is not None:
        if stored.error.status is not None:
            message.error.CopyFrom(stored.error.status)
    elif isinstance(stored, Object):
        message.json = stored.raw
    else:
        message.protobuf = stored.raw
    return message


def equal(old: Stored | None, new: Stored | None) -> bool:
    """Return whether two states of an object are the same to a subscriber: the same UID and
    content. The resource version is a part of the content, unless that is a projection.
    """
    if old is None or new is None or old is new:
        return old is new
    if old.uid != new.uid or old.error or new.error:
        return old.uid == new.uid and str(old.error) == str(new.error)
    if old.raw == new.raw:
        return True
    # The same content may be encoded differently, by another replica or after a patch.
    return not _versions_differ(old, new) and _decoded(old) == _decoded(new)


def _versions_differ(old: Stored, new: Stored) -> bool:
    """Return whether the contents have different resource versions, without decoding them.

    False if the versions are equal or not found, as in a projection.
    """
    if old.resource_version == new.resource_version:
        return False
    version = _encoded_version(new)
    return version in new.raw and version not in old.raw


_VERSION_TAG = b"\x32"  # field 6 of ObjectMeta, whose value is behind its length


def _encoded_version(stored: Stored) -> bytes:
    """Return the resource version as it is encoded in the content."""
    version = stored.resource_version.encode()
    if isinstance(stored, Object):
        return b'"resourceVersion":"%s"' % version
    return _VERSION_TAG + bytes([len(version) & 0x7F]) + version


def _decoded(stored: Stored) -> object:
    """Return a value by which contents are compared. Bytes that are no message are compared
    themselves.
    """
    if isinstance(stored, Object):
        return json.loads(stored.raw)
    try:
        return cast(Message, stored.message())
    except UnreadableObject:
        return stored.raw
