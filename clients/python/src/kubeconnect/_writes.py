"""Parameters and results of writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias

from kubeconnect._choices import Choice
from kubeconnect._messages import Decode
from kubeconnect._objects import Object, Resource
from kubeconnect._types import T
from kubeconnect.v1 import write_pb2 as pb


class PatchType(Choice):
    """The format of a patch. The strings are accepted too: ``type="merge"``."""

    JSON = "json", pb.PATCH_TYPE_JSON
    """A list of operations (RFC 6902)."""
    MERGE = "merge", pb.PATCH_TYPE_MERGE
    """An object (RFC 7386): None deletes, lists are replaced."""
    STRATEGIC_MERGE = "strategic", pb.PATCH_TYPE_STRATEGIC_MERGE
    """An object; lists are merged by their keys. Built-in kinds only."""
    APPLY = "apply", pb.PATCH_TYPE_APPLY
    """Server-side apply: what the field manager wants to own. May be YAML."""


PatchTypeLike: TypeAlias = PatchType | Literal["json", "merge", "strategic", "apply"]


class FieldValidation(Choice):
    """The handling of unknown and duplicate fields. The strings are accepted too."""

    IGNORE = "ignore", pb.FIELD_VALIDATION_IGNORE
    """They are dropped silently."""
    WARN = "warn", pb.FIELD_VALIDATION_WARN
    """They are dropped, and the result's warnings name them."""
    STRICT = "strict", pb.FIELD_VALIDATION_STRICT
    """The write is rejected with InvalidArgument."""


FieldValidationLike: TypeAlias = FieldValidation | Literal["ignore", "warn", "strict"]


class PropagationPolicy(Choice):
    """The handling of the objects that a deleted object owns. The strings are accepted too."""

    ORPHAN = "orphan", pb.PROPAGATION_POLICY_ORPHAN
    """They remain, without the owner."""
    BACKGROUND = "background", pb.PROPAGATION_POLICY_BACKGROUND
    """They are deleted after their owner."""
    FOREGROUND = "foreground", pb.PROPAGATION_POLICY_FOREGROUND
    """They are deleted before their owner."""


PropagationPolicyLike: TypeAlias = PropagationPolicy | Literal["orphan", "background", "foreground"]


@dataclass(frozen=True)
class CreateResult(Generic[T]):
    """The result of a create."""

    object: T
    """The object as created, or as it would be for a dry run. A subresource may return another
    kind: "eviction" returns a Status."""
    warnings: tuple[str, ...]
    """The API server's warnings, human-readable."""

    @classmethod
    def from_message(cls, message: pb.CreateResponse, decode: Decode[T]) -> CreateResult[T]:
        """Return the result for the API's message."""
        return cls(_object(message, decode), tuple(message.warnings))


@dataclass(frozen=True)
class UpdateResult(Generic[T]):
    """The result of an update."""

    object: T
    """The object after the update, or as it would be for a dry run."""
    warnings: tuple[str, ...]
    """The API server's warnings, human-readable."""
    created: bool
    """Whether the update created the object, which some kinds allow."""

    @classmethod
    def from_message(cls, message: pb.UpdateResponse, decode: Decode[T]) -> UpdateResult[T]:
        """Return the result for the API's message."""
        return cls(_object(message, decode), tuple(message.warnings), message.created)


@dataclass(frozen=True)
class PatchResult(Generic[T]):
    """The result of a patch."""

    object: T
    """The object after the patch, or as it would be for a dry run."""
    warnings: tuple[str, ...]
    """The API server's warnings, human-readable."""
    created: bool
    """Whether the patch created the object (APPLY)."""

    @classmethod
    def from_message(cls, message: pb.PatchResponse, decode: Decode[T]) -> PatchResult[T]:
        """Return the result for the API's message."""
        return cls(_object(message, decode), tuple(message.warnings), message.created)


@dataclass(frozen=True)
class DeleteResult:
    """The result of a delete."""

    object: Object | None
    """The object, if it still exists (a finalizer, a grace period) or if the API server returns
    its last state; None if the API server reports only success."""
    warnings: tuple[str, ...]
    """The API server's warnings, human-readable."""
    resource_version: str | None
    """A version at which the deletion is visible: a read with this version as
    ``min_resource_version`` sees the object deleted, or with its ``deletionTimestamp``. None
    for a dry run, and if versions of the resource cannot be compared."""

    @classmethod
    def from_message(cls, message: pb.DeleteResponse) -> DeleteResult:
        """Return the result for the API's message."""
        left = _object(message, Object) if message.HasField("object") else None
        return cls(left, tuple(message.warnings), message.resource_version or None)


@dataclass(frozen=True)
class DeleteCollectionResult:
    """The result of a delete_collection."""

    deleted_count: int
    """The number of objects that were deleted, or are being deleted."""
    warnings: tuple[str, ...]
    """The API server's warnings, human-readable."""
    resource_version: str | None
    """A version at which all the deletions are visible, as in ``DeleteResult``."""

    @classmethod
    def from_message(cls, message: pb.DeleteCollectionResponse) -> DeleteCollectionResult:
        """Return the result for the API's message."""
        return cls(message.deleted_count, tuple(message.warnings), message.resource_version or None)


def _object(
    message: pb.CreateResponse | pb.UpdateResponse | pb.PatchResponse | pb.DeleteResponse,
    decode: Decode[T],
) -> T:
    return decode(message.object, Resource.from_message(message.resource))
