"""Kubernetes objects, decoded when somebody looks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import grpc

from kubeconnect.errors import UnreadableObject
from kubeconnect.v1 import object_pb2
from kubeconnect.v1.status_pb2 import Status


@dataclass(frozen=True)
class ResourceKind:
    """What an object is, in the cluster's names."""

    group: str
    """The API group, such as "apps"; "" for the core group."""
    version: str
    """The API version, such as "v1"."""
    kind: str
    """The kind, such as "Deployment"."""
    resource: str
    """The plural name, such as "deployments"."""
    namespaced: bool
    """Whether objects of this kind live in namespaces."""

    @property
    def api_version(self) -> str:
        """Group and version as an object's ``apiVersion`` has them: "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def from_message(cls, message: object_pb2.ResourceKind) -> ResourceKind:
        """Read the API's message."""
        return cls(
            message.group, message.version, message.kind, message.resource, message.namespaced
        )


class Object(Mapping[str, Any]):
    """One Kubernetes object: a read-only mapping, ``pod["spec"]["nodeName"]``.

    What every program needs can be read without decoding the rest: ``kind``,
    ``namespace``, ``name``, ``uid`` and ``resource_version``. The content is
    decoded once, when it is first asked for, and kept. An object is not tied to
    the answer that it came in, so keeping one keeps no others alive.

    Raises UnreadableObject where content is asked for and ``error`` is set: it could
    not be read, or was not told, as that of an object which was deleted while a
    watch was cut off.
    """

    __slots__ = (
        "_content",
        "_raw",
        "error",
        "kind",
        "name",
        "namespace",
        "resource_version",
        "uid",
    )

    def __init__(self, message: object_pb2.Object, kind: ResourceKind) -> None:
        """Copy what the API's message holds; ``kind`` stands beside it in answers."""
        self.kind = kind
        self.namespace = message.namespace
        self.name = message.name
        self.uid = message.uid
        self.resource_version = message.resource_version
        self.error = _error(message)
        self._raw = message.json
        self._content: dict[str, Any] | None = None

    @property
    def raw(self) -> bytes:
        """The whole object as Kubernetes JSON, as the service sent it, or as a patch made it."""
        if self.error:
            raise self.error.with_traceback(None)
        return self._raw

    def to_dict(self) -> dict[str, Any]:
        """Return the whole object, the same dict every time: copy before changing it."""
        if self._content is None:
            self._content = json.loads(self.raw)
        return self._content

    def __getitem__(self, key: str) -> Any:
        """Return a field at the top: "metadata", "spec", "status" ..."""
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields at the top."""
        return iter(self.to_dict())

    def __len__(self) -> int:
        """Return how many fields there are at the top."""
        return len(self.to_dict())

    def __bool__(self) -> bool:
        """Return True: an object is there, whether or not its content can be read."""
        return True

    def __repr__(self) -> str:
        """Name the object and nothing of its content, which may be secret."""
        path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"<Object {self.kind.kind} {path}>"


def _error(message: object_pb2.Object) -> UnreadableObject | None:
    content = message.WhichOneof("content")
    if content == "json":
        return None
    if content == "error":
        status = Status()
        status.CopyFrom(message.error)
        return UnreadableObject(grpc.StatusCode.DATA_LOSS, status.message, status)
    said = f"came as {content}, not as JSON" if content else "came without its content"
    return UnreadableObject(grpc.StatusCode.DATA_LOSS, f"{message.name} {said}")
