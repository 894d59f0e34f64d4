"""Kubernetes objects that are decoded on first access."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import grpc

from kubeconnect._errors import UnreadableObject
from kubeconnect._html import html_properties
from kubeconnect.v1 import object_pb2
from kubeconnect.v1.status_pb2 import Status

_decode: Callable[[str], dict[str, Any]] = json.JSONDecoder().decode
"""Faster than ``json.loads``, which detects the encoding of each text. The service sends UTF-8."""


@dataclass(frozen=True)
class Resource:
    """A resource and its kind."""

    group: str
    """The API group, such as "apps"; "" for the core group."""
    version: str
    """The API version, such as "v1"."""
    kind: str
    """The kind, such as "Deployment"."""
    plural: str
    """The plural name, such as "deployments"."""
    namespaced: bool
    """Whether objects of this kind are in namespaces."""
    protobuf_type: str = ""
    """The full name of the kind's protobuf message, such as "k8s.io.api.apps.v1.Deployment"; ""
    if the kind has none."""

    @property
    def api_version(self) -> str:
        """Group and version in the form of an object's ``apiVersion``: "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def from_message(cls, message: object_pb2.Resource) -> Resource:
        """Return the value for the API's message."""
        return cls(
            message.group,
            message.version,
            message.kind,
            message.plural,
            message.namespaced,
            message.protobuf_type,
        )


class Object(Mapping[str, Any]):
    """One Kubernetes object: a read-only mapping, ``pod["spec"]["nodeName"]``.

    ``resource``, ``namespace``, ``name``, ``uid`` and ``resource_version`` are available
    without decoding the content. ``namespace`` is None for a cluster-scoped object. The
    content is decoded once, on first access, and cached. An object does not reference the
    response that contained it, so an object that you store does not keep other objects in
    memory.

    ``metadata``, ``labels``, ``annotations`` and ``created`` are shortcuts into the content.
    ``to_dict`` returns the content as plain dicts and lists, for ``json.dumps``,
    ``yaml.safe_dump`` and the like, which accept dicts only. ``raw`` is the content as JSON.

    ``joined`` has the related objects of a list with ``joins``, by the names of the joins.

    Access to the content raises UnreadableObject if ``error`` is set: the content could not
    be read, or was not sent, as for an object that was deleted while a watch was
    disconnected.
    """

    __slots__ = (
        "_content",
        "_joined",
        "_raw",
        "error",
        "name",
        "namespace",
        "resource",
        "resource_version",
        "uid",
    )

    def __init__(self, message: object_pb2.Object, resource: Resource) -> None:
        """Copy the fields of the API's message. ``resource`` is a separate field of responses."""
        self.resource = resource
        self.namespace: str | None = message.namespace or None
        self.name = message.name
        self.uid = message.uid
        self.resource_version = message.resource_version
        self.error = content_error(message, "json")
        self._raw = message.json
        self._joined = joined_of(message) if message.joined else None
        self._content: dict[str, Any] | None = None

    @property
    def raw(self) -> bytes:
        """The complete object as Kubernetes JSON, as sent by the service, or with patches
        applied.
        """
        if self.error:
            raise self.error.with_traceback(None)
        return self._raw

    def to_dict(self) -> dict[str, Any]:
        """Return the complete object. Each call returns the same dict: copy it before you
        change it.
        """
        if self._content is None:
            self._content = _decode(self.raw.decode())
        return self._content

    @property
    def joined(self) -> Mapping[str, JoinedObjects]:
        """The related objects by the names of the list's ``joins``; empty without joins."""
        return self._joined or {}

    @property
    def metadata(self) -> dict[str, Any]:
        """The object's metadata, a part of ``to_dict()``; empty if it was not requested."""
        metadata: dict[str, Any] = self.to_dict().get("metadata") or {}
        return metadata

    @property
    def labels(self) -> dict[str, str]:
        """The object's labels, a part of ``to_dict()``; empty if there are none."""
        labels: dict[str, str] = self.metadata.get("labels") or {}
        return labels

    @property
    def annotations(self) -> dict[str, str]:
        """The object's annotations, a part of ``to_dict()``; empty if there are none."""
        annotations: dict[str, str] = self.metadata.get("annotations") or {}
        return annotations

    @property
    def created(self) -> datetime | None:
        """The time of the object's creation, in UTC; None if it was not requested."""
        return time_of(self.metadata.get("creationTimestamp"))

    @property
    def deleting(self) -> bool:
        """Whether the object is being deleted: it has a ``deletionTimestamp``."""
        return bool(self.metadata.get("deletionTimestamp"))

    if not TYPE_CHECKING:  # type checkers report an unknown attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError, with the way to read a field of the content."""
            raise AttributeError(_no_attribute(self, name), name=name, obj=self)

    def __getitem__(self, key: str) -> Any:
        """Return a top-level field: "metadata", "spec", "status" ..."""
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the top-level fields."""
        return iter(self.to_dict())

    def __len__(self) -> int:
        """Return the number of top-level fields."""
        return len(self.to_dict())

    def __bool__(self) -> bool:
        """Return True, whether or not the content can be read."""
        return True

    def __repr__(self) -> str:
        """Return the kind and name of the object without its content, which may be secret."""
        return f"<Object {self._title}>"

    def _repr_html_(self) -> str:
        """Return the metadata of the object as a table for notebooks, without its content."""
        return html_properties(self._title, self._summary())

    @property
    def _title(self) -> str:
        path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource.kind} {path}".strip()  # a Status has no name

    def _summary(self) -> Iterator[tuple[str, object]]:
        if self.error:
            yield "error", self.error
            return
        yield "created", self.created
        yield "uid", self.uid
        yield "resource version", self.resource_version
        yield "labels", tuple(f"{key}={value}" for key, value in self.labels.items())
        yield "fields", ", ".join(self)


@dataclass(frozen=True)
class JoinedObjects:
    """The objects that a ``Join`` relates to an object of a list."""

    count: int
    """The number of related objects; 0 if ``not_permitted``."""
    objects: tuple[Object, ...]
    """The related objects in the order of their namespaces and names, with the fields of the join
    and at most its limit. Their ``resource`` is not sent: its fields are ""."""
    not_permitted: bool
    """Whether the related objects are unknown: the caller is not allowed to list them, or the
    service does not cache them. A warning has the reason."""

    @property
    def first(self) -> Object | None:
        """The first related object; None if there is none, or if the join has no fields."""
        return self.objects[0] if self.objects else None


def joined_of(message: object_pb2.Object) -> dict[str, JoinedObjects]:
    """Return the related objects of the API's message by the names of their joins."""
    unknown = Resource.from_message(object_pb2.Resource())
    return {
        each.name: JoinedObjects(
            each.count,
            tuple(Object(related, unknown) for related in each.objects),
            each.not_permitted,
        )
        for each in message.joined
    }


def _no_attribute(object: Object, name: str) -> str:
    problem = f"{type(object).__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):
        return problem
    key = re.sub("_([a-z])", lambda match: match[1].upper(), name)
    return f'{problem}: its content is a mapping, so read a field with ["{key}"]'


def is_same(uid: str, other: str) -> bool:
    """Return whether two objects of one name may be the same: not if both have a UID, and these
    differ.
    """
    return uid == other or not (uid and other)


def time_of(text: str | None) -> datetime | None:
    """Return the time of a Kubernetes timestamp (RFC 3339), in UTC; None for none."""
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


def content_error(
    message: object_pb2.Object, expected: Literal["json", "protobuf"]
) -> UnreadableObject | None:
    """Return the error for content that is not in the expected encoding; None if it is."""
    content = message.WhichOneof("content")
    if content == expected:
        return None
    if content == "error":
        status = Status()
        status.CopyFrom(message.error)
        return UnreadableObject(grpc.StatusCode.DATA_LOSS, status.message, status)
    name = "JSON" if expected == "json" else expected
    problem = f"was sent as {content}, not as {name}" if content else "was sent without content"
    return UnreadableObject(grpc.StatusCode.DATA_LOSS, f"{message.name} {problem}")
