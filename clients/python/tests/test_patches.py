"""Tests of the reconstruction of complete objects from patches."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest

from kubeconnect._errors import KubeconnectError
from kubeconnect._patches import ObjectCache, apply_patch
from kubeconnect.v1 import object_pb2, watch_pb2


def object_event(kind: watch_pb2.EventType, content: Any, uid: str = "u") -> watch_pb2.Event:
    """Return an event about one object."""
    text = json.dumps(content).encode()
    return watch_pb2.Event(type=kind, object=object_pb2.Object(name="a", uid=uid, json=text))


def patch(
    operations: Any, type: watch_pb2.PatchFormat = watch_pb2.PATCH_FORMAT_JSON
) -> watch_pb2.Event:
    """Return a change of that object."""
    event = object_event(watch_pb2.EVENT_TYPE_MODIFIED, operations)
    event.patch_format = type
    return event


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


ADDED = object_event(watch_pb2.EVENT_TYPE_ADDED, {"spec": {"a": 1, "b": [1]}, "n": 2**53 + 1})
PATCH = patch([remove("/spec/a"), add("/spec/c", "é")])


def test_patches_are_applied_to_the_last_state() -> None:
    cache = ObjectCache()
    cache.complete(ADDED)
    patched = cache.complete(PATCH)
    assert patched.patch_format == watch_pb2.PATCH_FORMAT_UNSPECIFIED
    assert json.loads(patched.object.json) == {"spec": {"b": [1], "c": "é"}, "n": 2**53 + 1}
    again = cache.complete(patch([remove("/n"), add("/spec/b/0", 0)]))
    assert json.loads(again.object.json) == {"spec": {"b": [0, 1], "c": "é"}}


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([], id="never held"),
        pytest.param([ADDED, object_event(watch_pb2.EVENT_TYPE_DELETED, {})], id="deleted"),
        pytest.param(
            [ADDED, watch_pb2.Event(type=watch_pb2.EVENT_TYPE_RESET)], id="cleared by RESET"
        ),
        pytest.param(
            [object_event(watch_pb2.EVENT_TYPE_ADDED, {}, uid="another")], id="another object"
        ),
    ],
)
def test_patch_of_an_object_that_is_not_cached_is_an_error(before: list[watch_pb2.Event]) -> None:
    cache = ObjectCache()
    for event in before:
        cache.complete(event)
    with pytest.raises(KubeconnectError, match="patch of a, which is not cached"):
        cache.complete(PATCH)


@pytest.mark.parametrize("type", [watch_pb2.PATCH_FORMAT_MERGE, 99])
def test_patch_of_another_format_is_an_error(type: watch_pb2.PatchFormat) -> None:
    cache = ObjectCache()
    cache.complete(ADDED)
    with pytest.raises(KubeconnectError, match="a format that was not requested") as raised:
        cache.complete(patch([], type))
    assert raised.value.code is grpc.StatusCode.DATA_LOSS


@pytest.mark.parametrize(
    ("target", "operations", "result"),
    [
        pytest.param({"a": 1}, [], {"a": 1}, id="nothing"),
        pytest.param({"a": 1}, [add("/b", 2)], {"a": 1, "b": 2}, id="add a member"),
        pytest.param({"a": 1}, [add("/a", 2)], {"a": 2}, id="add a member that is there"),
        pytest.param({"a": 1, "b": 2}, [remove("/a")], {"b": 2}, id="remove a member"),
        pytest.param({"a": {"b": 1}}, [replace("/a", [2])], {"a": [2]}, id="replace a member"),
        pytest.param([1, 2], [add("/0", 0)], [0, 1, 2], id="add before the first item"),
        pytest.param([1, 2], [add("/1", 0)], [1, 0, 2], id="add between items"),
        pytest.param([1, 2], [add("/2", 0)], [1, 2, 0], id="add after the last item"),
        pytest.param([], [add("/0", 0)], [0], id="add to an empty list"),
        pytest.param([1, 2, 3], [remove("/0")], [2, 3], id="remove the first item"),
        pytest.param([1, 2, 3], [remove("/1")], [1, 3], id="remove a middle item"),
        pytest.param([1, 2, 3], [remove("/2")], [1, 2], id="remove the last item"),
        pytest.param([1, 2, 3], [replace("/0", 0)], [0, 2, 3], id="replace the first item"),
        pytest.param([1, 2, 3], [replace("/1", 0)], [1, 0, 3], id="replace a middle item"),
        pytest.param([1, 2, 3], [replace("/2", 0)], [1, 2, 0], id="replace the last item"),
        pytest.param([0] * 11, [remove("/10")], [0] * 10, id="an index of two digits"),
        pytest.param([1], [add("/1", [2])], [1, [2]], id="a list is one item"),
        pytest.param(
            {"a": [{"b": [1, {"c": 2}]}]},
            [replace("/a/0/b/1/c", 3)],
            {"a": [{"b": [1, {"c": 3}]}]},
            id="deep within",
        ),
        pytest.param({"a/b": 1, "a": {}}, [replace("/a~1b", 2)], {"a/b": 2, "a": {}}, id="a slash"),
        pytest.param({"a~b": 1}, [replace("/a~0b", 2)], {"a~b": 2}, id="a tilde"),
        pytest.param({"~1": 1, "/": 2}, [remove("/~01")], {"/": 2}, id="a tilde before a 1"),
        pytest.param({"a/b": {"c~d": 1}}, [remove("/a~1b/c~0d")], {"a/b": {}}, id="both"),
        pytest.param({}, [add("/", 1)], {"": 1}, id="the empty name"),
        pytest.param({"": {"": 1}}, [replace("//", 2)], {"": {"": 2}}, id="empty names"),
        pytest.param({"a\nb": 1}, [remove("/a\nb")], {}, id="a line break"),
        pytest.param({"0": 1}, [replace("/0", 2)], {"0": 2}, id="a name that is a number"),
        pytest.param({}, [add("/01", 1)], {"01": 1}, id="a name that is no index"),
        pytest.param({}, [add("/-", 1)], {"-": 1}, id="a name that is a dash"),
        pytest.param({}, [add("/a", None)], {"a": None}, id="add null"),
        pytest.param({"a": 1}, [replace("/a", None)], {"a": None}, id="replace by null"),
        pytest.param({"a": None}, [remove("/a")], {}, id="remove null"),
        pytest.param({"a": None}, [replace("/a", 1)], {"a": 1}, id="replace null"),
        pytest.param(
            {"a": [1, 2, 3], "b": 4},
            [remove("/a/0"), remove("/a/0"), add("/c", {}), add("/c/d", 5), remove("/b")],
            {"a": [3], "c": {"d": 5}},
            id="one after another",
        ),
    ],
)
def test_applies_operations_in_order(target: Any, operations: Any, result: Any) -> None:
    apply_patch(target, operations)
    assert target == result


NOWHERE = "does not exist"
NO_PATH = "is not a path"
NO_OPERATION = "an operation is not add, remove or replace"
NO_LIST = "not a list of operations"


@pytest.mark.parametrize(
    ("operations", "why"),
    [
        pytest.param([remove("/b")], NOWHERE, id="remove a missing member"),
        pytest.param([replace("/b", 1)], NOWHERE, id="replace a missing member"),
        pytest.param([add("/b/c", 1)], NOWHERE, id="add to a missing member"),
        pytest.param([add("/list/3", 1)], NOWHERE, id="add beyond the end"),
        pytest.param([remove("/list/2")], NOWHERE, id="remove after the last item"),
        pytest.param([replace("/list/2", 1)], NOWHERE, id="replace after the last item"),
        pytest.param([replace("/list/2/a", 1)], NOWHERE, id="through an item after the last"),
        pytest.param([add("/list/-", 1)], NOWHERE, id="a dash"),
        pytest.param([remove("/list/-1")], NOWHERE, id="a negative index"),
        pytest.param([remove("/list/01")], NOWHERE, id="a leading zero"),
        pytest.param([remove("/list/1.0")], NOWHERE, id="a fraction"),
        pytest.param([remove("/list/ 1")], NOWHERE, id="a space"),
        pytest.param([remove("/list/1\n")], NOWHERE, id="a line break"),
        pytest.param([remove("/list/\uff11")], NOWHERE, id="a digit of another script"),
        pytest.param([remove("/list/")], NOWHERE, id="the empty name in a list"),
        pytest.param([remove("/list/a")], NOWHERE, id="a name in a list"),
        pytest.param([add("/text/0", 1)], NOWHERE, id="into a string"),
        pytest.param([remove("/number/a")], NOWHERE, id="into a number"),
        pytest.param([add("/null/a", 1)], NOWHERE, id="into null"),
        pytest.param([replace("/text/0/a", 1)], NOWHERE, id="through a string"),
        pytest.param([add("/null/a/b", 1)], NOWHERE, id="through null"),
        pytest.param([add("/a", 1), remove("/b")], NOWHERE, id="the second operation"),
        pytest.param([replace("", {})], NO_PATH, id="the whole document"),
        pytest.param([replace("text", 1)], NO_PATH, id="no slash at the beginning"),
        pytest.param([add("/a~2", 1)], NO_PATH, id="an unknown escape"),
        pytest.param([add("/a~", 1)], NO_PATH, id="half an escape"),
        pytest.param([{"op": "test", "path": "/text", "value": "a"}], NO_OPERATION, id="test"),
        pytest.param([{"op": "move", "from": "/text", "path": "/a"}], NO_OPERATION, id="move"),
        pytest.param([{"path": "/text", "value": 1}], NO_OPERATION, id="no op"),
        pytest.param([{"op": "remove"}], NO_OPERATION, id="no path"),
        pytest.param([{"op": "remove", "path": 1}], NO_OPERATION, id="a path that is no string"),
        pytest.param([{"op": "add", "path": "/a"}], NO_OPERATION, id="add without a value"),
        pytest.param([{"op": "replace", "path": "/text"}], NO_OPERATION, id="replace without one"),
        pytest.param(["remove"], NO_OPERATION, id="a string for an operation"),
        pytest.param([None], NO_OPERATION, id="null for an operation"),
        pytest.param([[]], NO_OPERATION, id="a list for an operation"),
        pytest.param({"text": "b"}, NO_LIST, id="a merge patch"),
        pytest.param(None, NO_LIST, id="null"),
        pytest.param("a", NO_LIST, id="a string"),
    ],
)
def test_patch_that_does_not_apply_is_an_error(operations: Any, why: str) -> None:
    cache = ObjectCache()
    cache.complete(
        object_event(
            watch_pb2.EVENT_TYPE_ADDED, {"list": [1, 2], "text": "a", "number": 1, "null": None}
        )
    )
    with pytest.raises(KubeconnectError, match=f"patch of a does not apply: .*{why}") as raised:
        cache.complete(patch(operations))
    assert raised.value.code is grpc.StatusCode.DATA_LOSS
    with pytest.raises(KubeconnectError, match="not cached"):
        cache.complete(patch([]))


def test_patch_that_is_not_json_is_an_error() -> None:
    cache = ObjectCache()
    cache.complete(ADDED)
    event = patch([])
    event.object.json = b"["
    with pytest.raises(KubeconnectError, match="patch of a does not apply") as raised:
        cache.complete(event)
    assert raised.value.code is grpc.StatusCode.DATA_LOSS
