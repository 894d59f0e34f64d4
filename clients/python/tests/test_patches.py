"""Whole objects from patches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeconnect.errors import KubeconnectError
from kubeconnect.patches import HeldObjects, merge
from kubeconnect.v1 import object_pb2
from kubeconnect.v1 import resource_service_pb2 as pb


def told(kind: pb.EventType, content: Any, uid: str = "u", patch: bool = False) -> pb.Event:
    """Return an event about one object."""
    text = json.dumps(content).encode()
    return pb.Event(type=kind, object=object_pb2.Object(name="a", uid=uid, json=text), patch=patch)


ADDED = told(pb.EVENT_TYPE_ADDED, {"spec": {"a": 1, "b": [1]}, "n": 2**53 + 1})
PATCH = told(pb.EVENT_TYPE_MODIFIED, {"spec": {"a": None, "c": "é"}}, patch=True)


def test_a_patch_becomes_the_whole_object_and_the_next_is_to_that() -> None:
    held = HeldObjects()
    held.whole(ADDED)
    whole = held.whole(PATCH)
    assert not whole.patch
    assert json.loads(whole.object.json) == {"spec": {"b": [1], "c": "é"}, "n": 2**53 + 1}
    again = held.whole(told(pb.EVENT_TYPE_MODIFIED, {"n": None}, patch=True))
    assert json.loads(again.object.json) == {"spec": {"b": [1], "c": "é"}}


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([], id="never held"),
        pytest.param([ADDED, told(pb.EVENT_TYPE_DELETED, {})], id="deleted"),
        pytest.param([ADDED, pb.Event(type=pb.EVENT_TYPE_RESET)], id="forgotten by RESET"),
        pytest.param([told(pb.EVENT_TYPE_ADDED, {}, uid="another")], id="another object"),
    ],
)
def test_a_patch_to_what_is_not_held_is_an_error(before: list[pb.Event]) -> None:
    held = HeldObjects()
    for event in before:
        held.whole(event)
    with pytest.raises(KubeconnectError, match="not held"):
        held.whole(PATCH)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": [None]}, {"a": [None]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": "b"}, {"a": {}}, {"a": {}}),
        ({"a": {"b": 1}}, {"a": "b"}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merges_as_the_standard_says(target: Any, patch: Any, result: Any) -> None:
    assert merge(target, patch) == result
