"""Parts of objects: fields, and the order and groups of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from google.protobuf.struct_pb2 import Value

from kubeconnect._field_paths import EACH, FieldPath
from kubeconnect._value_order import sort_key
from kubeconnect.testing._failures import bad_request

_MISSING = object()

_Tree: TypeAlias = dict[object, Any]


class Mask:
    """The paths of the fields to return; all fields if there are none."""

    def __init__(self, paths: Iterable[str], *, metadata_only: bool = False) -> None:
        """Parse the paths. Raises InvalidArgument if one is not a path."""
        self._metadata_only = metadata_only
        self._tree: _Tree | None = None
        for text in paths:
            self._tree = self._tree or {}
            self._add(text)

    def _add(self, text: str) -> None:
        steps = path_of("fields", text).steps
        if self._metadata_only and steps[0] != "metadata":
            raise bad_request(
                f'fields: "{text}" is not in the metadata: with metadata_only, give paths in '
                "metadata"
            )
        tree: Any = self._tree
        *parents, last = steps
        for step in parents:
            tree = tree.setdefault(step, {})
            if tree is None:
                return  # an enclosing field is complete
        tree[last] = None

    def apply(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of an object."""
        if self._metadata_only:
            meta = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
            content = {**meta, "metadata": content["metadata"]}
        if self._tree is None:
            return dict(content)
        part = _project(content, self._tree)
        return {} if part is _MISSING else part


def path_of(parameter: str, text: str) -> FieldPath:
    """Return a path. Raises InvalidArgument, with the name of the parameter, if it is not one."""
    if re.search(r"\[-?\d", text):
        problem = "single elements are not supported: write [*] for each element"
        raise bad_request(f'{parameter}: "{text}": {problem}')
    try:
        return FieldPath(text)
    except ValueError as error:
        raise bad_request(f"{parameter}: {error}") from error


def _project(value: Any, tree: _Tree | None) -> Any:
    if tree is None:
        return value
    if isinstance(value, dict):
        return _project_fields(value, tree)
    if isinstance(value, list) and EACH in tree:
        parts = [_project(each, tree[EACH]) for each in value]
        if all(part is _MISSING for part in parts):
            return _MISSING
        return [
            _empty(each) if part is _MISSING else part
            for each, part in zip(value, parts, strict=True)
        ]
    return _MISSING


def _project_fields(value: dict[str, Any], tree: _Tree) -> Any:
    parts = {}
    for name, field in value.items():
        selected = [tree[step] for step in (name, EACH) if step in tree]
        part = _project(field, selected[0]) if selected else _MISSING
        if part is not _MISSING:
            parts[name] = part
    return parts or _MISSING


def _empty(value: Any) -> Any:
    return {} if isinstance(value, dict) else None


def scalar(parameter: str, text: str, values: Iterable[Any]) -> Any:
    """Return the only value of a path; None if there is none. Raises InvalidArgument for an object
    or a list.
    """
    return next(scalars(parameter, text, values), None)


def scalars(parameter: str, text: str, values: Iterable[Any]) -> Iterator[Any]:
    """Iterate over the values of a path. Raises InvalidArgument for an object or a list."""
    for value in values:
        if isinstance(value, (dict, list)):
            raise bad_request(
                f'{parameter}: "{text}" is an object or a list: give the path of a field in it'
            )
        yield value


Order: TypeAlias = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


def order_of(order_by: str) -> Order:
    """Return the function that orders objects by "path" or "path desc", separated by commas."""
    terms = [_order_term(term) for term in order_by.split(",")] if order_by else []

    def order(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for text, path, descending in reversed(terms):

            def key(content: dict[str, Any], text: str = text, path: FieldPath = path) -> Any:
                return sort_key(scalar("order_by", text, path.values(content)))

            contents = sorted(contents, key=key, reverse=descending)
        return contents

    return order


def _order_term(term: str) -> tuple[str, FieldPath, bool]:
    text, _, direction = term.strip().partition(" ")
    if direction.strip() not in ("", "asc", "desc") or "[*]" in text:
        raise bad_request(f'order_by: "{term.strip()}" is not "path" or "path desc"')
    return text, path_of("order_by", text), direction.strip() == "desc"


def to_value(value: Any) -> Value:
    """Return a scalar as the API's message."""
    if value is None:
        return Value(null_value=0)  # type: ignore[arg-type]
    if isinstance(value, bool):
        return Value(bool_value=value)
    if isinstance(value, (int, float)):
        return Value(number_value=value)
    return Value(string_value=value)
