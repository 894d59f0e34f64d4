"""Objects as protobuf messages of their kinds (kubeconnect.k8s)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import grpc
from google.protobuf.message import DecodeError, Message

from kubeconnect._bodies import ObjectBody, encode_body
from kubeconnect._errors import UnreadableObject
from kubeconnect._event_reader import DecodeEvent, decode_object
from kubeconnect._kinds import KindMessage, kind_of
from kubeconnect._objects import Object, Resource, content_error
from kubeconnect._types import T
from kubeconnect.v1 import object_pb2, watch_pb2, write_pb2

M = TypeVar("M", bound=KindMessage)

Decode = Callable[[object_pb2.Object, Resource], T]
"""Returns the object of the API's message."""


def resource_name(resource: str | type[KindMessage]) -> str:
    """Return the name to send for a resource, or for the resource of a class of messages.

    Raises TypeError for a class that is not a kind.
    """
    return resource if isinstance(resource, str) else kind_of(resource).resource


def encoding_of(resource: str | type[KindMessage]) -> object_pb2.Encoding:
    """Return the encoding to request."""
    is_name = isinstance(resource, str)
    return object_pb2.ENCODING_JSON if is_name else object_pb2.ENCODING_PROTOBUF


def named(
    resource: str | KindMessage, body: ObjectBody | None
) -> tuple[str | type[KindMessage], ObjectBody | KindMessage]:
    """Return the resource and the body of a write. A message is the body, and its class the
    resource.
    """
    if not isinstance(resource, str):
        return type(resource), resource
    if body is None:
        raise TypeError("the object to write is missing")
    return resource, body


def set_body(
    request: write_pb2.CreateRequest | write_pb2.UpdateRequest, body: ObjectBody | KindMessage
) -> None:
    """Put the object to write into a request: messages as protobuf, all else as JSON or YAML."""
    if isinstance(body, Message):
        request.protobuf = body.SerializeToString()
    else:
        request.data = encode_body(cast(ObjectBody, body))


def decoder_of(resource: str | type[KindMessage]) -> Decode[Any]:
    """Return the function that decodes the objects."""
    return Object if isinstance(resource, str) else partial(decode, resource)


def event_decoder_of(resource: str | type[KindMessage]) -> DecodeEvent:
    """Return the function that decodes the objects of events."""
    return decode_object if isinstance(resource, str) else partial(decode_event, resource)


def decode(cls: type[M], message: object_pb2.Object, resource: Resource) -> M:
    """Return an object as a message. Raises UnreadableObject if it cannot be decoded."""
    if error := content_error(message, "protobuf"):
        raise error
    expected = cls.DESCRIPTOR.full_name
    if resource.protobuf_type not in ("", expected):
        problem = f"{message.name} was sent as {resource.protobuf_type}, not as {expected}"
        raise UnreadableObject(grpc.StatusCode.DATA_LOSS, problem)
    try:
        return cls.FromString(message.protobuf)
    except DecodeError as error:
        problem = f"{message.name} is not a valid {expected}: {error}"
        raise UnreadableObject(grpc.StatusCode.DATA_LOSS, problem) from error


def decode_event(cls: type[M], event: watch_pb2.Event, resource: Resource) -> M | UnreadableObject:
    """Return the object of an event as a message, or the error for which it cannot be decoded.

    The object of a DELETED event may have no content, and has its identity only then.
    """
    try:
        return decode(cls, event.object, resource)
    except UnreadableObject as error:
        return _identity(cls, event.object) if event.type == watch_pb2.EVENT_TYPE_DELETED else error


def _identity(cls: type[M], message: object_pb2.Object) -> M:
    identity = cls()
    identity.metadata.namespace = message.namespace
    identity.metadata.name = message.name
    identity.metadata.uid = message.uid
    identity.metadata.resourceVersion = message.resource_version
    return identity


def message_to_dict(message: KindMessage) -> dict[str, Any]:
    """Return a message as Kubernetes writes it in JSON. Raises TypeError if it is not a kind."""
    kind_of(message)
    from kubeconnect.k8s._json import to_dict  # loads the messages of meta

    return to_dict(cast(Message, message))
