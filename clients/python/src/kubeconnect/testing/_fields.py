"""The fields of built-in kinds: unknown ones, and values of the wrong type."""

from __future__ import annotations

from typing import Any

from kubeconnect._errors import InvalidArgument, KubeconnectError
from kubeconnect.testing._cluster import Content
from kubeconnect.testing._contents import copy_of, message_class
from kubeconnect.testing._failures import failure
from kubeconnect.testing._resources import ResourceType
from kubeconnect.v1 import write_pb2


def known_fields(
    resource: ResourceType,
    content: Content,
    validation: int,
    rejection: type[KubeconnectError] = InvalidArgument,
) -> tuple[Content, list[str]]:
    """Return an object without unknown fields, and the warnings about them.

    Raises ``rejection`` for a value of the wrong type, and for unknown fields if the validation is
    strict.
    """
    cls = message_class(resource)
    if cls is None:
        return content, []
    from kubeconnect.testing._from_json import Path, unknown_fields  # loads kubeconnect.k8s

    try:
        paths: list[Path] = unknown_fields(cls, content)
    except KubeconnectError as error:
        raise failure(rejection, f"{_handled(resource)}: {error.message}") from error
    if not paths:
        return content, []
    problems = [f'unknown field "{_text(path)}"' for path in paths]
    if validation == write_pb2.FIELD_VALIDATION_STRICT:
        listed = ", ".join(problems)
        raise failure(rejection, f"{_handled(resource)}: strict decoding error: {listed}")
    content = copy_of(content)
    for path in paths:
        _remove(content, path)
    silent = validation == write_pb2.FIELD_VALIDATION_IGNORE
    return content, [] if silent else problems


def _handled(resource: ResourceType) -> str:
    kind = resource.kind
    return f'{kind} in version "{resource.version}" cannot be handled as a {kind}'


def _text(path: tuple[str | int, ...]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).lstrip(".")


def _remove(value: Any, path: tuple[str | int, ...]) -> None:
    *parents, last = path
    for step in parents:
        value = value[step]
    del value[last]
