"""The fields of built-in kinds: unknown ones, and values of the wrong type."""

from __future__ import annotations

from kubeconnect._errors import InvalidArgument, KubeconnectError
from kubeconnect.testing._cluster import Content
from kubeconnect.testing._contents import message_class
from kubeconnect.testing._failures import failure
from kubeconnect.testing._resources import ResourceType
from kubeconnect.v1 import write_pb2


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
    if cls is None:
        return content, []
    from kubeconnect.k8s.helpers import to_dict  # loads kubeconnect.k8s
    from kubeconnect.testing._from_json import parse

    try:
        message, paths = parse(cls, content)
    except KubeconnectError as error:
        raise failure(rejection, f"{_handled(resource)}: {error.message}") from error
    problems = [f'unknown field "{_text(path)}"' for path in paths]
    if problems and validation == write_pb2.FIELD_VALIDATION_STRICT:
        listed = ", ".join(problems)
        raise failure(rejection, f"{_handled(resource)}: strict decoding error: {listed}")
    silent = validation == write_pb2.FIELD_VALIDATION_IGNORE
    return to_dict(message), [] if silent else problems


def _handled(resource: ResourceType) -> str:
    kind = resource.kind
    return f'{kind} in version "{resource.version}" cannot be handled as a {kind}'


def _text(path: tuple[str | int, ...]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).lstrip(".")
