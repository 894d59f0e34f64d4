import json
from datetime import datetime, timedelta, timezone

import pytest

from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import write_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import FakeService


async def test_scale_patches_the_scale(client: AsyncClient, service: FakeService) -> None:
    await client.scale("deployments", "web", 3, namespace="demo", dry_run=True, field_manager="me")
    assert service.requests == [
        pb.PatchRequest(
            resource="deployments",
            name="web",
            namespace="demo",
            subresource="scale",
            data=b'{"spec": {"replicas": 3}}',
            type=pb.PATCH_TYPE_MERGE,
            dry_run=True,
            field_manager="me",
            field_validation=pb.FIELD_VALIDATION_WARN,
            preconditions=pb.Preconditions(),
            encoding=ENCODING_JSON,
        )
    ]


async def test_restart_annotates_the_pod_template(
    client: AsyncClient, service: FakeService
) -> None:
    await client.restart("deployments", "web", namespace="demo")
    (request,) = service.requests
    annotations = json.loads(request.data)["spec"]["template"]["metadata"].pop("annotations")
    restarted = datetime.fromisoformat(annotations.pop("kubectl.kubernetes.io/restartedAt"))
    assert annotations == {}
    assert abs(datetime.now(timezone.utc) - restarted) < timedelta(minutes=1)
    assert (request.type, request.subresource) == (pb.PATCH_TYPE_MERGE, "")
    assert request.field_validation == pb.FIELD_VALIDATION_STRICT


@pytest.mark.parametrize(
    ("uid", "seconds", "options"),
    [
        pytest.param(None, None, {}, id="by default"),
        pytest.param(
            "u1",
            0,
            {"gracePeriodSeconds": 0, "preconditions": {"uid": "u1"}},
            id="of one pod, at once",
        ),
    ],
)
async def test_evict_creates_an_eviction(
    client: AsyncClient,
    service: FakeService,
    uid: str | None,
    seconds: int | None,
    options: dict[str, object],
) -> None:
    await client.evict("web", namespace="demo", uid=uid, grace_period_seconds=seconds)
    (request,) = service.requests
    assert (request.resource, request.namespace, request.name, request.subresource) == (
        "pods",
        "demo",
        "web",
        "eviction",
    )
    assert json.loads(request.data) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "web", "namespace": "demo"},
        "deleteOptions": options,
    }


async def test_cordon_and_uncordon_change_a_node(client: AsyncClient, service: FakeService) -> None:
    await client.cordon("n1", dry_run=True)
    await client.uncordon("n1")
    assert [
        (request.resource, request.name, request.dry_run, json.loads(request.data))
        for request in service.requests
    ] == [
        ("nodes", "n1", True, {"spec": {"unschedulable": True}}),
        ("nodes", "n1", False, {"spec": {"unschedulable": None}}),
    ]
