"""JSON patches, merge patches and strategic merge patches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubeconnect._errors import Internal
from kubeconnect.testing._contents import copy_of
from kubeconnect.testing._failures import bad_request, failure, unsupported

# The fields that identify the items of lists, by the name of the list. Two lists are named
# ports: those of a Service, and those of a container.
_ITEM_KEYS: dict[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "hostIPs": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_PORT_KEYS = ("containerPort", "port")
_SETS = frozenset(("finalizers",))


def item_keys(name: str, items: list[Any]) -> tuple[str, ...]:
    """Return the fields that identify the items of a list of a built-in kind; none if the list is
    replaced as a whole.
    """
    if not items or not all(isinstance(each, dict) for each in items):
        return ()
    if name == "ports":
        key = next((each for each in _PORT_KEYS if each in items[0]), None)
        return (key, "protocol") if key else ()
    return _ITEM_KEYS.get(name, ())


def has_items(name: str) -> bool:
    """Return whether a list of a built-in kind has items that are named by their fields."""
    return name == "ports" or name in _ITEM_KEYS or is_set(name)


def is_set(name: str) -> bool:
    """Return whether a list is a set of texts."""
    return name in _SETS


class PatchFailed(Exception):
    """A JSON patch does not apply to the object."""


def json_patch(target: Any, operations: Any) -> Any:
    """Return a value with a JSON patch (RFC 6902).

    Raises InvalidArgument for a malformed patch, and PatchFailed if it does not apply.
    """
    if not isinstance(operations, list):
        raise bad_request("the patch is an object: PATCH_TYPE_JSON takes a list of operations")
    document = {"": copy_of(target)}
    for number, operation in enumerate(operations):
        op = operation.get("op") if isinstance(operation, dict) else None
        if op not in _OPERATIONS:
            raise bad_request(
                f'operation {number} of the patch has op "{op}": use add, remove, replace, move, '
                "copy or test"
            )
        for name in ("path", "from"):
            if (path := operation.get(name)) and not str(path).startswith("/"):
                raise bad_request(
                    f'operation {number} of the patch has {name} "{path}": give one that begins '
                    "with /, such as /spec/replicas"
                )
        try:
            _OPERATIONS[op](document, operation)
        except (KeyError, IndexError, ValueError, TypeError) as problem:
            raise PatchFailed from problem
    return document[""]


def _steps(path: str) -> list[str]:
    # The document is the field "" of an object, so that it can be replaced too.
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]


def _find(document: Any, path: str) -> tuple[Any, Any]:
    """Return the object or list that has the target of a path, and the key or index in it."""
    *parents, last = _steps(path)
    for step in parents:
        document = document[_index(document, step)]
    return document, last


def _index(container: Any, step: str) -> Any:
    if isinstance(container, list):
        index = int(step)
        if not 0 <= index < len(container):
            raise IndexError(step)
        return index
    return step


def _value(document: Any, path: str) -> Any:
    container, last = _find(document, path)
    return container[_index(container, last)]


def _add(document: Any, path: str, value: Any) -> None:
    container, last = _find(document, path)
    if isinstance(container, dict):
        container[last] = value
        return
    index = len(container) if last == "-" else int(last)
    if not 0 <= index <= len(container):
        raise IndexError(last)
    container.insert(index, value)


def _remove(document: Any, path: str) -> Any:
    container, last = _find(document, path)
    return container.pop(_index(container, last))


def _replace(document: Any, operation: dict[str, Any]) -> None:
    container, last = _find(document, operation["path"])
    container[_index(container, last)] = copy_of(operation.get("value"))


def _test(document: Any, operation: dict[str, Any]) -> None:
    if _value(document, operation["path"]) != operation["value"]:
        raise ValueError(operation["path"])


_OPERATIONS: dict[Any, Callable[[Any, dict[str, Any]], Any]] = {
    "add": lambda doc, op: _add(doc, op["path"], copy_of(op.get("value"))),
    "remove": lambda doc, op: _remove(doc, op["path"]),
    "replace": _replace,
    "move": lambda doc, op: _add(doc, op["path"], _remove(doc, op["from"])),
    "copy": lambda doc, op: _add(doc, op["path"], copy_of(_value(doc, op["from"]))),
    "test": _test,
}


def merge_patch(target: Any, patch: Any) -> Any:
    """Return a value with a merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return copy_of(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def strategic_patch(target: Any, patch: Any, name: str = "") -> Any:
    """Return a value with a strategic merge patch. ``name`` is the field of the value.

    Raises Unimplemented for directives other than ``$patch`` and ``$retainKeys``.
    """
    if isinstance(patch, list):
        return _strategic_list(target if isinstance(target, list) else [], patch, name)
    if not isinstance(patch, dict):
        return patch
    patch = dict(patch)
    if patch.pop("$patch", "merge") == "replace":
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    if (kept := patch.pop("$retainKeys", None)) is not None:
        merged = {key: value for key, value in merged.items() if key in kept}
    for key, value in patch.items():
        if key.startswith("$"):
            raise unsupported(f'the directive "{key}" in a strategic merge patch')
        if value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
            merged.pop(key, None)
        else:
            merged[key] = strategic_patch(merged.get(key), value, key)
    return merged


def _strategic_list(target: list[Any], patch: list[Any], name: str) -> list[Any]:
    if is_set(name):
        return _interleave(patch, dict.fromkeys([*target, *patch]), target)
    replaces = [
        each for each in patch if isinstance(each, dict) and each.get("$patch") == "replace"
    ]
    keys = item_keys(name, [each for each in patch if each not in replaces] or target)
    if replaces or not keys:
        return [copy_of(each) for each in patch if each not in replaces]
    merged = {each.get(keys[0]): each for each in target}
    changed = []
    for item in patch:
        if (key := item.get(keys[0])) is None:
            raise failure(Internal, f"map: {item} does not contain declared merge key: {keys[0]}")
        if item.get("$patch") == "delete":
            merged.pop(key, None)
        else:
            merged[key] = strategic_patch(merged.get(key), item)
            changed.append(key)
    order = [each.get(keys[0]) for each in target]
    return [merged[key] for key in _interleave(changed, merged, order)]


def _interleave(changed: list[Any], merged: dict[Any, Any], order: list[Any]) -> list[Any]:
    """Return the keys of a merged list as the API server orders them: items of the patch in the
    order of the patch, before the other items unless the object had them after these.
    """
    left, right = list(changed), [key for key in merged if key not in changed]
    result = []
    while left and right:
        both = left[0] in order
        result.append(
            right.pop(0) if both and order.index(left[0]) > order.index(right[0]) else left.pop(0)
        )
    return result + left + right
