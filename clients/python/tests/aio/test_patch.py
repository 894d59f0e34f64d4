import json

import grpc
import pytest

from kubeconnect import Conflict, FieldValidation, Invalid, PatchType, Status, StatusCause
from kubeconnect._bodies import PatchBody
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import write_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import Failure, FakeService, pod


async def test_returns_the_changed_object(client: AsyncClient) -> None:
    body = {"spec": {"replicas": 3}}
    result = await client.patch("pods", "web", body, type=PatchType.APPLY, namespace="demo")
    assert result.object.name == "web"
    assert result.object["spec"] == {"patched": True}
    assert result.object.resource.kind == "Pod"
    assert (result.warnings, result.created) == (("old",), True)


async def test_sends_all_arguments(client: AsyncClient, service: FakeService) -> None:
    await client.patch(
        "deployments.apps",
        "web",
        {"spec": {"replicas": 3}},
        type=PatchType.APPLY,
        namespace="demo",
        subresource="scale",
        uid="u1",
        resource_version="7",
        dry_run=True,
        field_manager="me",
        force=True,
        field_validation=FieldValidation.STRICT,
    )
    (request,) = service.requests
    assert json.loads(request.data) == {"spec": {"replicas": 3}}
    request.data = b""
    assert request == pb.PatchRequest(
        resource="deployments.apps",
        name="web",
        data=b"",
        type=pb.PATCH_TYPE_APPLY,
        namespace="demo",
        subresource="scale",
        dry_run=True,
        field_manager="me",
        force=True,
        field_validation=pb.FIELD_VALIDATION_STRICT,
        preconditions=pb.Preconditions(uid="u1", resource_version="7"),
        encoding=ENCODING_JSON,
    )


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        pytest.param({"a": None, "ü": [1]}, '{"a": null, "ü": [1]}', id="a mapping"),
        pytest.param([{"op": "remove"}], '[{"op": "remove"}]', id="a list"),
        pytest.param(b"spec: {}", "spec: {}", id="bytes as they are"),
        pytest.param("spec: {ü: 1}", "spec: {ü: 1}", id="text as it is"),
    ],
)
async def test_sends_the_body(
    client: AsyncClient, service: FakeService, body: PatchBody, sent: str
) -> None:
    await client.patch("pods", "web", body, type=PatchType.MERGE)
    assert service.requests[0].data.decode() == sent


async def test_sends_an_object_that_was_read(client: AsyncClient, service: FakeService) -> None:
    service.objects = [pod("web", spec={"nodeName": "n1"})]
    web = await client.get("pods", "web", namespace="demo")
    await client.patch("pods", "web", web, type=PatchType.APPLY, field_manager="me")
    assert json.loads(service.requests[-1].data) == web.to_dict()


@pytest.mark.parametrize("body", [{"a": float("nan")}, {"a": object()}])
async def test_rejects_values_that_json_cannot_express(
    client: AsyncClient, service: FakeService, body: PatchBody
) -> None:
    with pytest.raises((TypeError, ValueError)):
        await client.patch("pods", "web", body, type=PatchType.MERGE)
    assert service.requests == []


async def test_names_each_field_in_conflict(client: AsyncClient, service: FakeService) -> None:
    cause = StatusCause(reason="FieldManagerConflict", message="owned", field=".spec.replicas")
    status = Status(reason="Conflict", causes=[cause])
    service.failure = Failure(grpc.StatusCode.ABORTED, "conflict", status)
    with pytest.raises(Conflict) as caught:
        await client.patch("pods", "web", {}, type=PatchType.APPLY, field_manager="me")
    assert caught.value.causes == (cause,)


async def test_names_each_field_that_is_invalid(client: AsyncClient, service: FakeService) -> None:
    cause = StatusCause(reason="FieldValueInvalid", message="negative", field="spec.replicas")
    status = Status(reason="Invalid", causes=[cause])
    service.failure = Failure(grpc.StatusCode.INVALID_ARGUMENT, "invalid", status)
    with pytest.raises(Invalid) as caught:
        await client.patch("pods", "web", {}, type=PatchType.MERGE)
    assert [each.field for each in caught.value.causes] == ["spec.replicas"]
