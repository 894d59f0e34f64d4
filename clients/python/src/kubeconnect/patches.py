"""How a patch is written, and what comes of it."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kubeconnect.objects import Object, ResourceKind
from kubeconnect.v1 import resource_service_pb2 as pb

PatchBody: TypeAlias = Mapping[str, Any] | Sequence[Any] | str | bytes
"""A mapping or a list, sent as JSON; or text that is already JSON or YAML."""


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
        kind = ResourceKind.from_message(message.kind)
        return cls(Object(message.object, kind), tuple(message.warnings), message.created)


def encode_body(body: PatchBody) -> bytes:
    """Return the bytes to send; text is sent as it is, in UTF-8.

    Raises TypeError or ValueError for what JSON cannot say.
    """
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    text = json.dumps(body, default=_plain, ensure_ascii=False, allow_nan=False)
    return text.encode()


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a patch cannot contain a {type(value).__name__}")
