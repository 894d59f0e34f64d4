"""The fields of built-in kinds: unknown ones, and values of the wrong type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.message import Message

from kubeconnect._errors import InvalidArgument, KubeconnectError
from kubeconnect.testing._cluster import Content
from kubeconnect.testing._contents import message_class
from kubeconnect.testing._failures import failure
from kubeconnect.testing._resources import ResourceType
from kubeconnect.v1 import write_pb2

if TYPE_CHECKING:
    from kubeconnect.testing._from_json import Path


def known_fields(
    resource: ResourceType,
    content: Content,
    validation: int,
    rejection: type[KubeconnectError] = InvalidArgument,
) -> tuple[Content, list[str]]:
    """Return an object in the form in which the API server sends it, without unknown fields and
    empty lists, and the warnings about unknown fields.

    Raises ``rejection`` for a value of the wrong type, and for unknown fields if the validation is
    strict.
    """
    cls = message_class(resource)
    try:
        known, paths = _known_metadata(content) if cls is None else _known(cls, content)
    except KubeconnectError as error:
        raise failure(rejection, f"{_handled(resource)}: {error.message}") from error
    problems = [f'unknown field "{_text(path)}"' for path in paths]
    if problems and validation == write_pb2.FIELD_VALIDATION_STRICT:
        listed = ", ".join(problems)
        raise failure(rejection, f"{_handled(resource)}: strict decoding error: {listed}")
    silent = validation == write_pb2.FIELD_VALIDATION_IGNORE
    return known, [] if silent else problems


def _known(cls: type[Message], content: Content) -> tuple[Content, list[Path]]:
    """Return an object as its message has it, and the paths of the other fields."""
    from kubeconnect.k8s.helpers import to_dict  # loads kubeconnect.k8s
    from kubeconnect.testing._from_json import parse

    message, paths = parse(cls, content)
    return to_dict(message), paths


def _known_metadata(content: Content) -> tuple[Content, list[Path]]:
    """Return an object of a custom resource, whose metadata alone has a message."""
    from kubeconnect.k8s.meta.v1 import PartialObjectMetadata

    metadata = content.get("metadata")
    known, paths = _known(PartialObjectMetadata, {"metadata": metadata or {}})
    return {**content, "metadata": known.get("metadata") or {}}, paths


def _handled(resource: ResourceType) -> str:
    kind = resource.kind
    return f'{kind} in version "{resource.version}" cannot be handled as a {kind}'


def _text(path: tuple[str | int, ...]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).lstrip(".")
