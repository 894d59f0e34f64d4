"""Tests of parameters that accept a member of an enum or its string."""

import json
from typing import Any, get_args

import pytest

from kubeconnect import (
    Client,
    Consistency,
    FieldValidation,
    LogStream,
    PatchType,
    PropagationPolicy,
)
from kubeconnect._logs import LogStreamLike
from kubeconnect._reads import ConsistencyLike
from kubeconnect._writes import FieldValidationLike, PatchTypeLike, PropagationPolicyLike
from kubeconnect.v1 import consistency_pb2, write_pb2
from tests.fake import FakeService


def test_strings_are_accepted(service: FakeService) -> None:
    with Client(service.address) as client:
        client.list("pods", consistency="latest")
        client.patch("pods", "web", {}, type="merge", field_validation="strict")
        client.delete("pods", "web", propagation_policy="foreground")
    listed, patched, deleted = service.requests
    assert listed.consistency == consistency_pb2.CONSISTENCY_LATEST
    assert patched.type == write_pb2.PATCH_TYPE_MERGE
    assert patched.field_validation == write_pb2.FIELD_VALIDATION_STRICT
    assert deleted.propagation_policy == write_pb2.PROPAGATION_POLICY_FOREGROUND


def test_another_string_is_an_error_that_lists_them(service: FakeService) -> None:
    with Client(service.address) as client, pytest.raises(ValueError, match="newest") as caught:
        client.list("pods", consistency="newest")  # type: ignore[call-overload]
    assert str(caught.value) == (
        '\'newest\' is not a valid Consistency: use one of "cached", "latest"'
    )
    assert service.requests == []


def test_a_member_is_its_string() -> None:
    latest: str = Consistency.LATEST
    assert latest == "latest"
    assert {"latest": 1}[Consistency.LATEST] == 1
    assert f"{Consistency.LATEST} {Consistency.LATEST.value}" == "latest latest"
    assert json.dumps(PatchType.MERGE) == '"merge"'


@pytest.mark.parametrize(
    ("members", "annotation"),
    [
        (Consistency, ConsistencyLike),
        (FieldValidation, FieldValidationLike),
        (LogStream, LogStreamLike),
        (PatchType, PatchTypeLike),
        (PropagationPolicy, PropagationPolicyLike),
    ],
)
def test_the_annotations_have_all_strings(members: Any, annotation: Any) -> None:
    _, literal = get_args(annotation)
    assert get_args(literal) == tuple(member.value for member in members)
