"""Field paths of objects, in kubectl's notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import Message

_STEP = re.compile(
    r"""
    (?:\[\*\] | \.\*(?=[.\[]|$))                 # each element
    | \.?(?P<name>(?:[^.\[\]'"{}\\]|\\.)+)      # name, or a name with escaped dots
    | \[(?P<quote>['"])(?P<quoted>.+?)(?P=quote)\]
    """,
    re.VERBOSE,
)

_EACH = object()
_MISSING = object()


class FieldPath:
    """A path such as "spec.containers[*].image" or "metadata.labels['app.kubernetes.io/name']".

    A leading "." or "$", and braces around the path, are optional.
    """

    def __init__(self, path: str) -> None:
        """Parse the path. Raises ValueError if it is not one."""
        self._steps = tuple(_steps(path))
        self._parts = tuple(_parts(self._steps))

    @property
    def is_single(self) -> bool:
        """Whether the path leads to at most one value: it has no "[*]"."""
        return len(self._parts) == 1

    def covers(self, other: FieldPath) -> bool:
        """Return whether an object with only the field at this path has all of the other's."""
        return other._steps[: len(self._steps)] == self._steps

    def value(self, content: Any) -> Any:
        """Return the value at a single path in an object's content; None if it is missing."""
        found = _find(content, self._parts[0])
        return None if found is _MISSING else found

    def values(self, content: Any) -> list[Any]:
        """Return the values at the path in an object's content, which is decoded JSON or a
        message; none if it is missing. A message has the values of its JSON.
        """
        first, *others = self._parts
        values = _find_in((content,), first)
        for part in others:
            values = _find_in(_elements(values), part)
        return values


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


def _parts(steps: Iterable[object]) -> Iterator[tuple[object, ...]]:
    """Yield the names before the first "[*]", between each two, and after the last one."""
    names: list[object] = []
    for step in steps:
        if step is _EACH:
            yield tuple(names)
            names = []
        else:
            names.append(step)
    yield tuple(names)


def _elements(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from value
        elif isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, Message):
            yield from (content for _, content in _members(value))


def _find_in(values: Iterable[Any], names: tuple[object, ...]) -> list[Any]:
    return [found for value in values if (found := _find(value, names)) is not _MISSING]


def _find(value: Any, names: tuple[object, ...]) -> Any:
    try:
        for name in names:
            if isinstance(value, Message):
                value = dict(_members(value))
            value = value[name]
    except (KeyError, TypeError):
        return _MISSING
    return value


def _members(message: Message) -> Iterator[tuple[str, Any]]:
    from kubeconnect.k8s._json import members  # loads the messages of meta

    return members(message)
