"""Server-side apply: the fields of an object by the managers that own them.

A field is owned by its path. The items of lists of built-in kinds are named by the fields that
identify them; other lists are owned and replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from kubeconnect._errors import Conflict, Invalid, KubeconnectError
from kubeconnect.testing._cluster import Content
from kubeconnect.testing._contents import copy_of
from kubeconnect.testing._failures import failure
from kubeconnect.testing._patching import has_items, is_set, item_keys
from kubeconnect.v1.status_pb2 import StatusCause

_OWNED_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
_DEFAULTS = {"protocol": "TCP"}
_ATOMIC_MAPS = ("labelSelector", "namespaceSelector", "nodeSelector", "podSelector", "selector")
"""The objects in built-in kinds that have one owner as a whole."""
_MISSING = object()


class Item(NamedTuple):
    """The step of a path to the item of a list with these values of its identifying fields."""

    values: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        """Return the step as in the message of a conflict."""
        return "[" + ",".join(f'{name}="{value}"' for name, value in self.values) + "]"


Path: TypeAlias = tuple[Any, ...]
"""The names of the fields from the outermost on, and Items."""


class Manager(NamedTuple):
    """A field manager."""

    name: str
    applies: bool
    """Whether it owns the fields by apply."""

    def __str__(self) -> str:
        """Return the manager as in the message of a conflict."""
        return f'"{self.name}"'


class Ownership:
    """The fields of one object that each manager owns."""

    def __init__(self) -> None:
        """Begin without fields."""
        self._owned: dict[Manager, set[Path]] = {}

    def copy(self) -> Ownership:
        """Return a copy."""
        copied = Ownership()
        copied._owned = {manager: set(paths) for manager, paths in self._owned.items()}
        return copied

    def record(
        self, manager: Manager, before: Content | None, after: Content, *, lists: bool
    ) -> None:
        """Record what a manager has changed by a create, an update or a patch. ``lists`` is whether
        the items of lists have owners.
        """
        old, new = leaves(before or {}, lists=lists), leaves(after, lists=lists)
        changed = {path for path, value in new.items() if old.get(path, _MISSING) != value}
        gone = old.keys() - new.keys()
        for paths in self._owned.values():
            paths -= changed | gone
        self._owned.setdefault(manager, set()).update(changed)

    def apply(
        self, manager: Manager, target: Content, applied: Content, *, lists: bool, force: bool
    ) -> Content:
        """Return the object with what the manager applies. ``lists`` is whether the items of lists
        have owners. Raises Conflict if other managers own fields with other values.
        """
        if lists:
            _check_items(applied)
        new, current = leaves(applied, lists=lists), leaves(target, lists=lists)
        differing = {path for path, value in new.items() if current.get(path, value) != value}
        if not force and (causes := list(self._conflicts(manager, differing, target))):
            raise _conflict(causes)
        for other, paths in self._owned.items():
            if other != manager:
                paths -= differing
        before = self._owned.get(manager, set())
        self._owned[manager] = set(new)
        result = copy_of(target)
        for path in sorted((before - new.keys()) & current.keys(), key=_identifies):
            if not any(path in paths for paths in self._owned.values()):
                _remove(result, path)
        for path, value in new.items():
            _set(result, path, copy_of(value))
        return result  # type: ignore[no-any-return]

    def _conflicts(
        self, manager: Manager, differing: set[Path], target: Content
    ) -> Iterator[StatusCause]:
        for other, paths in self._owned.items():
            for path in sorted(differing & paths, key=str) if other != manager else ():
                using = "" if other.applies else f" using {target['apiVersion']}"
                yield StatusCause(
                    reason="FieldManagerConflict",
                    message=f"conflict with {other}{using}",
                    field=_text(path),
                )


def _conflict(causes: list[StatusCause]) -> KubeconnectError:
    if len(causes) == 1:
        problem = f"1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        listed = "\n".join(f"- {each.message}: {each.field}" for each in causes)
        problem = f"{len(causes)} conflicts:\n{listed}"
    return failure(Conflict, f"Apply failed with {problem}", causes=causes)


def _text(path: Path) -> str:
    return "".join(str(step) if isinstance(step, Item) else f".{step}" for step in path)


def leaves(content: Content, *, lists: bool) -> dict[Path, Any]:
    """Return the values of an object that have owners, by their paths."""
    owned = {key: value for key, value in content.items() if key not in ("apiVersion", "kind")}
    metadata = owned.pop("metadata", None) or {}
    owned["metadata"] = {key: metadata[key] for key in _OWNED_METADATA if metadata.get(key)}
    return dict(_leaves(owned, (), lists))


def _leaves(value: Any, path: Path, lists: bool) -> Iterator[tuple[Path, Any]]:
    name = path[-1] if path else ""
    if isinstance(value, dict) and value and not (lists and name in _ATOMIC_MAPS):
        for key, each in value.items():
            yield from _leaves(each, (*path, key), lists)
    elif isinstance(value, list) and is_set(str(name)):
        for each in value:
            yield (*path, Item((("=", each),))), each
    elif lists and (value is None or (value == [] and has_items(str(name)))):
        return  # no item is applied
    elif isinstance(value, list) and lists and (keys := item_keys(str(name), value)):
        for each in value:
            yield from _leaves(each, (*path, _item(each, keys)), lists)
    elif path != ("metadata",):
        yield path, value


def _check_items(value: Any, name: str = "") -> None:
    """Raise Invalid if items of an applied list have no name, or the same one."""
    if isinstance(value, dict):
        for key, each in value.items():
            _check_items(each, key)
    elif isinstance(value, list) and (keys := item_keys(name, value)):
        items = [_item(each, keys) for each in value]
        for item, each in zip(items, value, strict=True):
            if any(found is None for _, found in item.values):
                raise failure(Invalid, f".{name}: element omits key field {keys[0]!r}")
            if items.count(item) > 1:
                raise failure(Invalid, f".{name}: duplicate entries for key {item}")
            _check_items(each)


def _item(value: dict[str, Any], keys: tuple[str, ...]) -> Item:
    return Item(tuple((key, value.get(key, _DEFAULTS.get(key))) for key in keys))


def _new_item(step: Item) -> dict[str, Any]:
    """Return an item with its identifying fields, so that the next path finds it."""
    return {key: value for key, value in step.values if value not in (None, _DEFAULTS.get(key))}


def _is_item(value: Any, item: Item) -> bool:
    if not isinstance(value, dict):
        return bool(value == item.values[0][1])
    return all(value.get(key, _DEFAULTS.get(key)) == wanted for key, wanted in item.values)


def _set(target: Any, path: Path, value: Any) -> None:
    step, *rest = path
    if isinstance(step, Item):
        found = next((n for n, each in enumerate(target) if _is_item(each, step)), None)
        if found is None:
            target.append(_new_item(step) if rest else value)
            found = len(target) - 1
        if rest:
            _set(target[found], tuple(rest), value)
    elif rest:
        if not isinstance(target.get(step), (dict, list)):
            target[step] = [] if isinstance(rest[0], Item) else {}
        _set(target[step], tuple(rest), value)
    elif not (value == {} and isinstance(target.get(step), dict)):
        target[step] = value


def _identifies(path: Path) -> bool:
    """Return whether a path is of a field that identifies an item."""
    return len(path) > 1 and isinstance(path[-2], Item) and path[-1] in dict(path[-2].values)


def _remove(target: Any, path: Path) -> None:
    """Remove a value, and the objects and items that are empty then. The fields that identify an
    item are removed with the item, if it has no others.
    """
    step, *rest = path
    if isinstance(step, Item):
        found = next((n for n, each in enumerate(target) if _is_item(each, step)), None)
        if found is None:
            return
        if rest and not (len(rest) == 1 and _identifies(path)):
            _remove(target[found], tuple(rest))
        elif not rest or target[found].keys() <= dict(step.values).keys():
            del target[found]
    elif isinstance(target, dict) and step in target:
        if rest:
            _remove(target[step], tuple(rest))
        if not rest or target[step] in ({}, []):
            del target[step]
