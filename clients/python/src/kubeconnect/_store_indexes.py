"""The indexes of a store: objects by values that are computed from them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from kubeconnect._errors import UnreadableObject
from kubeconnect._field_paths import FieldPath
from kubeconnect._stored import Stored, unpack, values_at
from kubeconnect._types import T

Key: TypeAlias = tuple[str, str]
"""The namespace and name of an object. The namespace of a cluster-scoped object is ""."""

IndexBy: TypeAlias = str | Callable[[T], Hashable | Iterable[Hashable] | None]
"""What an index is by: a field path, or a function that returns the value or values of an
object. None, and no values, leave the object out of the index. A tuple, list, set or frozenset
is several values."""

Values: TypeAlias = tuple[tuple[Hashable, ...], ...]
"""The values of one object, for each index."""

_logger = logging.getLogger("kubeconnect")


class Indexes:
    """The keys of a store's objects by the values of each index."""

    def __init__(self, definitions: Mapping[str, IndexBy[Any]]) -> None:
        """Begin without objects. Raises ValueError for an invalid field path."""
        self._functions = {name: _function(by) for name, by in definitions.items()}
        self._keys: dict[str, dict[Hashable, dict[Key, None]]] = {name: {} for name in definitions}
        self._values: dict[Key, Values] = {}
        self._failed: set[str] = set()
        self.errors = 0

    def values(self, stored: Stored) -> Values:
        """Compute the values of an object. A function that fails leaves the object out of its
        index, which is counted, and logged the first time. An object without content is in no
        index.
        """
        if not self._functions or stored.error:
            return ()
        # The copy is decoded once for all indexes, and is garbage afterwards.
        try:
            obj = unpack(stored)
        except UnreadableObject:
            return ()
        return tuple(self._compute(name, obj, stored) for name in self._functions)

    def _compute(self, name: str, obj: Any, stored: Stored) -> tuple[Hashable, ...]:
        try:
            found = _several(self._functions[name](obj))
            return tuple(dict.fromkeys(map(_shared, found)))
        except Exception:
            self.errors += 1
            level = logging.DEBUG if name in self._failed else logging.ERROR
            self._failed.add(name)
            _logger.log(level, "index %r of a store failed for %r", name, stored, exc_info=True)
            return ()

    def put(self, key: Key, values: Values) -> None:
        """Store the values of an object, in place of its earlier ones."""
        if values == self._values.get(key, ()):
            return
        self.remove(key)
        if not any(values):
            return
        for index, found in zip(self._keys.values(), values, strict=True):
            for value in found:
                index.setdefault(value, {})[key] = None
        self._values[key] = values

    def remove(self, key: Key) -> None:
        """Remove an object."""
        values = self._values.pop(key, ())
        if not values:
            return
        for index, found in zip(self._keys.values(), values, strict=True):
            for value in found:
                del index[value][key]
                if not index[value]:
                    del index[value]

    def keys(self, name: str, value: Hashable) -> Iterable[Key]:
        """Return the keys of the objects with a value. Raises KeyError for an unknown index."""
        return self._index(name).get(value, {})

    def all_values(self, name: str) -> list[Hashable]:
        """Return the values that some object has. Raises KeyError for an unknown index."""
        return list(self._index(name))

    def _index(self, name: str) -> dict[Hashable, dict[Key, None]]:
        try:
            return self._keys[name]
        except KeyError:
            known = ", ".join(map(repr, self._keys)) or "none"
            raise KeyError(f"the store has no index {name!r}; its indexes: {known}") from None


def _function(by: IndexBy[Any]) -> Callable[[Any], Hashable | Iterable[Hashable] | None]:
    if not isinstance(by, str):
        return by
    path = FieldPath(by)
    return lambda obj: list(_scalars(values_at(path, obj)))


def _scalars(values: Iterable[object]) -> Iterator[str | int | float | bool]:
    return (value for value in values if isinstance(value, str | int | float | bool))


def _several(values: Hashable | Iterable[Hashable] | None) -> Iterable[Hashable]:
    if values is None:
        return ()
    if isinstance(values, tuple | list | set | frozenset | Iterator):
        return values
    return (cast(Hashable, values),)


def _shared(value: Hashable) -> Hashable:
    """Return the value, or an equal one that other objects have too."""
    return sys.intern(value) if type(value) is str else value
