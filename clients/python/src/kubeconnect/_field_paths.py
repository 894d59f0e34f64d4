"""Field paths of objects, in kubectl's notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import Message

_STEP = re.compile(
    r"""
    \.?(?P<name>(?:[^.\[\]'"{}\\]|\\.)+)        # name, or a name with escaped dots
    | \[\*\]                                    # each element
    | \[(?P<quote>['"])(?P<quoted>.+?)(?P=quote)\]
    """,
    re.VERBOSE,
)

_EACH = object()


class FieldPath:
    """A path such as "spec.containers[*].image" or "metadata.labels['app.kubernetes.io/name']".

    A leading "." or "$", and braces around the path, are optional.
    """

    def __init__(self, path: str) -> None:
        """Parse the path. Raises ValueError if it is not one."""
        self._steps: list[object] = list(_steps(path))

    def values(self, content: Any) -> Iterator[Any]:
        """Iterate over the values at the path in an object's content, which is decoded JSON or a
        message; none if it is missing. A message has the values of its JSON.
        """
        found: Iterable[Any] = (content,)
        for step in self._steps:
            found = _elements(found) if step is _EACH else _fields(found, step)
        yield from found


def _steps(path: str) -> Iterator[object]:
    text = path[1:-1] if path.startswith("{") and path.endswith("}") else path
    text = text.removeprefix("$")
    position = 0
    while position < len(text):
        if (match := _STEP.match(text, position)) is None:
            break
        name = match["quoted"] or match["name"]
        yield re.sub(r"\\(.)", r"\1", name) if name else _EACH
        position = match.end()
    if not text or position < len(text):
        raise ValueError(
            f"{path!r} is not a field path: write metadata.name, spec.containers[*].image or "
            "metadata.labels['app.kubernetes.io/name']"
        )


def _elements(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from value
        elif isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, Message):
            yield from (content for _, content in _members(value))


def _fields(values: Iterable[Any], name: object) -> Iterator[Any]:
    for value in values:
        if isinstance(value, dict) and name in value:
            yield value[name]
        elif isinstance(value, Message):
            yield from (content for field, content in _members(value) if field == name)


def _members(message: Message) -> Iterator[tuple[str, Any]]:
    from kubeconnect.k8s._json import members  # loads the messages of meta

    return members(message)
