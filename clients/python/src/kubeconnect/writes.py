"""How something is written, and what comes of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kubeconnect.objects import Object, ResourceKind
from kubeconnect.v1 import resource_service_pb2 as pb


class PatchType(enum.Enum):
    """How a patch is written."""

    JSON = pb.PATCH_TYPE_JSON
    """A list of operations (RFC 6902)."""
    MERGE = pb.PATCH_TYPE_MERGE
    """An object (RFC 7386): None deletes, lists are replaced."""
    STRATEGIC_MERGE = pb.PATCH_TYPE_STRATEGIC_MERGE
    """An object; lists are merged by their keys. Built-in kinds only."""
    APPLY = pb.PATCH_TYPE_APPLY
    """Server-side apply: what the field manager wants to own. May be YAML."""


class FieldValidation(enum.Enum):
    """What happens to fields that the kind does not have, or that stand twice."""

    IGNORE = pb.FIELD_VALIDATION_IGNORE
    """They are dropped in silence."""
    WARN = pb.FIELD_VALIDATION_WARN
    """They are dropped, and the result's warnings name them."""
    STRICT = pb.FIELD_VALIDATION_STRICT
    """The write is refused with InvalidArgument."""


class PropagationPolicy(enum.Enum):
    """What becomes of the objects that the deleted one owns."""

    ORPHAN = pb.PROPAGATION_POLICY_ORPHAN
    """They stay, without an owner."""
    BACKGROUND = pb.PROPAGATION_POLICY_BACKGROUND
    """They are deleted after it."""
    FOREGROUND = pb.PROPAGATION_POLICY_FOREGROUND
    """They are deleted before it."""


@dataclass(frozen=True)
class CreateResult:
    """What was created."""

    object: Object
    """The object as it was made; or as it would be, for a dry run. A subresource may answer
    another kind: "eviction" a Status."""
    warnings: tuple[str, ...]
    """The API server's warnings, for people."""

    @classmethod
    def from_message(cls, message: pb.CreateResponse) -> CreateResult:
        """Read the API's message."""
        return cls(_object(message), tuple(message.warnings))


@dataclass(frozen=True)
class UpdateResult:
    """What an update has led to."""

    object: Object
    """The object as it is now; or as it would be, for a dry run."""
    warnings: tuple[str, ...]
    """The API server's warnings, for people."""
    created: bool
    """Whether the object was made by this update, where its kind allows that."""

    @classmethod
    def from_message(cls, message: pb.UpdateResponse) -> UpdateResult:
        """Read the API's message."""
        return cls(_object(message), tuple(message.warnings), message.created)


@dataclass(frozen=True)
class PatchResult:
    """What a patch has led to."""

    object: Object
    """The object as it is now; or as it would be, for a dry run."""
    warnings: tuple[str, ...]
    """The API server's warnings, for people."""
    created: bool
    """Whether the object was made by this patch (APPLY)."""

    @classmethod
    def from_message(cls, message: pb.PatchResponse) -> PatchResult:
        """Read the API's message."""
        return cls(_object(message), tuple(message.warnings), message.created)


@dataclass(frozen=True)
class DeleteResult:
    """What is left of a deleted object."""

    object: Object | None
    """The object, where it is still there (a finalizer, a grace period) or the API server
    answers with its last state; None where that says only that all went well."""
    warnings: tuple[str, ...]
    """The API server's warnings, for people."""
    resource_version: str
    """A version at which the deletion is visible: a read with it as
    ``min_resource_version`` sees the object deleted, or with its ``deletionTimestamp``. ""
    for a dry run, and where the resource has no versions that can be compared."""

    @classmethod
    def from_message(cls, message: pb.DeleteResponse) -> DeleteResult:
        """Read the API's message."""
        left = _object(message) if message.HasField("object") else None
        return cls(left, tuple(message.warnings), message.resource_version)


@dataclass(frozen=True)
class DeleteCollectionResult:
    """What a deletion of all that match has led to."""

    deleted: int
    """How many objects were deleted, or have begun to end."""
    warnings: tuple[str, ...]
    """The API server's warnings, for people."""
    resource_version: str
    """A version at which all the deletions are visible, as in ``DeleteResult``."""

    @classmethod
    def from_message(cls, message: pb.DeleteCollectionResponse) -> DeleteCollectionResult:
        """Read the API's message."""
        return cls(message.deleted, tuple(message.warnings), message.resource_version)


def _object(
    message: pb.CreateResponse | pb.UpdateResponse | pb.PatchResponse | pb.DeleteResponse,
) -> Object:
    return Object(message.object, ResourceKind.from_message(message.kind))
