"""Conversion of arguments to the fields of requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from google.protobuf.duration_pb2 import Duration

P = ParamSpec("P")
M = TypeVar("M")


def checked(message: Callable[P, M]) -> Callable[P, M]:
    """Return the class of a message, whose TypeError names the field that has a wrong type.

    The TypeError of protobuf does not name it.
    """

    def create(*args: P.args, **fields: P.kwargs) -> M:
        try:
            return message(*args, **fields)
        except (TypeError, AttributeError) as error:
            raise _explained(message, fields) or error from None

    return create


def duration(seconds: float | None) -> Duration | None:
    """Return the API's message of a time in seconds."""
    if seconds is None:
        return None
    message = Duration()
    message.FromNanoseconds(round(seconds * 1e9))
    return message


def _explained(message: Callable[..., object], fields: dict[str, Any]) -> TypeError | None:
    for name, value in fields.items():
        try:
            message(**{name: value})
        except (TypeError, AttributeError):
            hint = _HINTS.get(name, "")
            return TypeError(f"{name} has the wrong type {type(value).__name__}{hint}")
    return None


_HINTS = {
    "label_selector": ': it must be a str, such as "app=web,tier!=db"',
    "field_selector": ': it must be a str, such as "status.phase=Running"',
    "filter": ": it must be a str, a CEL expression over object",
    **dict.fromkeys(["name", "namespace", "subresource", "field_manager"], ": it must be a str"),
    **dict.fromkeys(
        ["resource_version", "min_resource_version", "uid", "resume_token"],
        ": it must be a str, as it was returned",
    ),
}
