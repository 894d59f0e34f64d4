"""Objects as protobuf messages of their kinds (kubeconnect.k8s)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
    if isinstance(resource, Mapping):
        raise TypeError('the resource is missing: pass it before the object, such as "configmaps"')
    if isinstance(resource, type):
        raise TypeError(f"pass a message, {resource.__name__}(...), and not its class")
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
    if error := expected_error(cls, message, resource):
        raise error
    return parse(cls, message.name, message.protobuf)


def expected_error(
    cls: type[KindMessage], message: object_pb2.Object, resource: Resource
) -> UnreadableObject | None:
    """Return the error of an object that was not sent as a message of the class; None if it
    was.
    """
    if error := content_error(message, "protobuf"):
        return error
    expected = cls.DESCRIPTOR.full_name
    if resource.protobuf_type in ("", expected):
        return None
    problem = f"{message.name} was sent as {resource.protobuf_type}, not as {expected}"
    return UnreadableObject(grpc.StatusCode.DATA_LOSS, problem)


def parse(cls: type[M], name: str, content: bytes) -> M:
    """Return the message. Raises UnreadableObject if the bytes are none."""
    try:
        return cls.FromString(content)
    except DecodeError as error:
        problem = f"{name} is not a valid {cls.DESCRIPTOR.full_name}: {error}"
        raise UnreadableObject(grpc.StatusCode.DATA_LOSS, problem) from error


def decode_event(cls: type[M], event: watch_pb2.Event, resource: Resource) -> M | UnreadableObject:
    """Return the object of an event as a message, or the error for which it cannot be decoded.

    The object of a DELETED event may have no content, and has its identity only then.
    """
    try:
        return decode(cls, event.object, resource)
    except UnreadableObject as error:
        if event.type != watch_pb2.EVENT_TYPE_DELETED:
            return error
        gone = event.object
        return identity(cls, gone.namespace, gone.name, gone.uid, gone.resource_version)


def identity(cls: type[M], namespace: str, name: str, uid: str, version: str) -> M:
    """Return a message that has only the identity of an object."""
    message = cls()
    message.metadata.namespace = namespace
    message.metadata.name = name
    message.metadata.uid = uid
    message.metadata.resourceVersion = version
    return message


def message_to_dict(message: KindMessage, *, zeros: bool = False) -> dict[str, Any]:
    """Return a message as Kubernetes writes it in JSON; with ``zeros`` also with the fields that
    are set to zero. Raises TypeError if it is not a kind.
    """
    kind_of(message)
    from kubeconnect.k8s._json import to_dict  # loads the messages of meta

    return to_dict(cast(Message, message), zeros=zeros)


def as_object(message: KindMessage) -> Object:
    """Return a message as an Object."""
    kind, metadata = kind_of(message), message.metadata
    namespaced = bool(metadata.namespace)
    resource = Resource(kind.group, kind.version, kind.kind, "", namespaced)
    content = object_pb2.Object(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resourceVersion,
        json=json.dumps(message_to_dict(message)).encode(),
    )
    return Object(content, resource)
