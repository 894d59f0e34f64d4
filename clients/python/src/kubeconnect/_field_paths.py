"""Field paths of objects, in kubectl's notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

_STEP = re.compile(
    r"""
    \.?(?P<name>(?:[^.\[\]'"{}\\]|\\.)+)        # name, or a name with escaped dots
    | \[\*\]                                    # each element
    | \[(?P<quote>['"])(?P<quoted>.+?)(?P=quote)\]
    """,
    re.VERBOSE,
)

EACH = object()
"""The step "[*]" of a path: each element of a list, or each value of an object."""


class FieldPath:
    """A path such as "spec.containers[*].image" or "metadata.labels['app.kubernetes.io/name']".

    A leading "." or "$", and braces around the path, are optional.
    """

    def __init__(self, path: str) -> None:
        """Parse the path. Raises ValueError if it is not one."""
        self.steps: list[object] = list(_steps(path))
        """The names of the fields from the outermost on, and EACH."""

    def values(self, content: Any) -> Iterator[Any]:
        """Iterate over the values at the path in an object's content; none if it is missing."""
        found: Iterable[Any] = (content,)
        for step in self.steps:
            found = _elements(found) if step is EACH else _fields(found, step)
        yield from found


def _steps(path: str) -> Iterator[object]:
    text = path[1:-1] if path.startswith("{") and path.endswith("}") else path
    text = text.removeprefix("$")
    position = 0
    while position < len(text):
        if (match := _STEP.match(text, position)) is None:
            break
        name = match["quoted"] or match["name"]
        yield re.sub(r"\\(.)", r"\1", name) if name else EACH
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


def _fields(values: Iterable[Any], name: object) -> Iterator[Any]:
    for value in values:
        if isinstance(value, dict) and name in value:
            yield value[name]
