"""The kinds of message classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

if TYPE_CHECKING:
    from kubeconnect.k8s.meta.v1 import ObjectMeta


M = TypeVar("M", bound="KindMessage")


class KindMessage(Protocol):
    """A message that is a Kubernetes object, such as ``kubeconnect.k8s.core.v1.Pod``.

    The metadata distinguishes these messages from the messages that they contain.
    """

    DESCRIPTOR: Descriptor

    @property
    def metadata(self) -> ObjectMeta:
        """The metadata of the object."""

    def SerializeToString(self, *, deterministic: bool = ...) -> bytes:  # noqa: N802
        """Return the bytes of the message."""

    @classmethod
    def FromString(cls: type[M], s: bytes, /) -> M:  # noqa: N802
        """Return the message of these bytes."""


@dataclass(frozen=True)
class GroupVersionKind:
    """The API group, version and kind of a class of messages."""

    group: str
    """The API group, such as "apps"; "" for the core group."""
    version: str
    """The API version, such as "v1"."""
    kind: str
    """The kind, such as "Deployment"."""

    @property
    def api_version(self) -> str:
        """Group and version in the form of an object's ``apiVersion``: "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The name of the resource for calls that take a name, which has the version:
        "Deployment.v1.apps".
        """
        return f"{self.kind}.{self.version}.{self.group}"


_KINDS: dict[type[Any], GroupVersionKind] = {}


def register(message: type[Message], kind: GroupVersionKind) -> None:
    """Record the kind of a class of messages."""
    _KINDS[message] = kind


def find_kind(message: type[Any]) -> GroupVersionKind | None:
    """Return the kind of a class; None if it is not the class of a Kubernetes object."""
    return _KINDS.get(message)


def kind_of(message: type[KindMessage] | KindMessage) -> GroupVersionKind:
    """Return the kind of a class of messages, or of a message.

    Raises TypeError for a message that is not a Kubernetes object by itself, such as PodSpec.
    """
    cls = message if isinstance(message, type) else type(message)
    if found := find_kind(cls):
        return found
    raise TypeError(
        f"{cls.__name__} is not a kind of kubeconnect.k8s, such as core.v1.Pod; "
        'a resource is such a class, or a name such as "pods"'
    )
