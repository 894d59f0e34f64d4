"""Tests of the conditions to wait for."""

from __future__ import annotations

import json
import pickle
from typing import Any

import grpc
import pytest

from kubeconnect import Object, Resource, WaitTimeout
from kubeconnect._conditions import check
from kubeconnect._events import EventType, ObjectEvent
from kubeconnect._wait_session import STATE, WaitSession
from tests.fake import PODS, pod


def read(content: dict[str, Any]) -> Object:
    message = pod("web")
    message.json = json.dumps(content).encode()
    return Object(message, Resource.from_message(PODS))


def ready(status: str, generation: int = 2, **observed: int) -> Object:
    condition = {"type": "Ready", "status": status, **observed}
    return read({"metadata": {"generation": generation}, "status": {"conditions": [condition]}})


@pytest.mark.parametrize(
    ("condition", "object", "met"),
    [
        ("condition=Ready", ready("True"), True),
        ("condition=Ready", ready("False"), False),
        ("condition=Ready=False", ready("False"), True),
        ("condition=ready=FALSE", ready("False"), True),
        ("condition=Started", ready("True"), False),
        ("condition=Ready", ready("True", observedGeneration=1), False),
        ("condition=Ready", ready("True", observedGeneration=2), True),
        ("condition=Ready", read({}), False),
        (
            "condition=Ready",
            read(
                {
                    "metadata": {"generation": 2},
                    "status": {
                        "observedGeneration": 1,
                        "conditions": [{"type": "Ready", "status": "True"}],
                    },
                }
            ),
            False,
        ),
    ],
)
def test_a_condition_is_met_by_the_status_of_the_current_generation(
    condition: str, object: Object, met: bool
) -> None:
    assert check(condition).is_met(object) is met


def test_an_outdated_condition_says_so() -> None:
    outdated = ready("True", observedGeneration=1)
    said = check("condition=Ready").describe(outdated)
    assert said == "Ready is True, for an earlier generation"


def test_a_deletion_that_waits_says_for_what() -> None:
    metadata = {"deletionTimestamp": "2026-01-02T12:31:07Z", "finalizers": ["a/b", "c/d"]}
    deleting = read({"metadata": metadata})
    assert check("deleted").describe(deleting) == (
        "it is being deleted, with the finalizers a/b, c/d"
    )


def test_a_condition_that_reads_as_cel_is_cel() -> None:
    assert check("condition == 'Ready'").filter == "condition == 'Ready'"


def test_a_rollout_that_has_failed_ends_the_wait() -> None:
    condition = {"type": "Progressing", "reason": "ProgressDeadlineExceeded"}
    web = read({"kind": "Deployment", "status": {"conditions": [condition]}})
    wait = WaitSession("deployments", "demo/web", "rollout")
    with pytest.raises(WaitTimeout) as caught:
        wait.receive(STATE, ObjectEvent(EventType.ADDED, web, "7"))
    assert str(caught.value) == (
        "waiting for rollout of deployments demo/web failed: it exceeded its progress deadline; "
        "last state: 0 of 1 replicas are updated"
    )
    assert caught.value.object is web


def test_a_timeout_can_be_pickled() -> None:
    error = WaitTimeout(grpc.StatusCode.DEADLINE_EXCEEDED, "too late", object=read({}))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.object) == ("too late", read({}))
