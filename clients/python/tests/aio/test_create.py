import grpc
import pytest

from kubeconnect import AlreadyExists, FieldValidation, Status
from kubeconnect._bodies import ObjectBody
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import write_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import Failure, FakeService


async def test_returns_the_created_object(client: AsyncClient) -> None:
    result = await client.create("pods", {"metadata": {"name": "web"}}, namespace="demo")
    assert (result.object.name, result.object.namespace) == ("web", "demo")
    assert result.object["spec"] == {"created": True}
    assert result.object.resource.kind == "Pod"
    assert result.warnings == ("old",)


async def test_sends_all_arguments(client: AsyncClient, service: FakeService) -> None:
    await client.create(
        "pods",
        {"kind": "Eviction"},
        namespace="demo",
        name="web",
        subresource="eviction",
        dry_run=True,
        field_manager="me",
        field_validation=FieldValidation.IGNORE,
    )
    assert service.requests == [
        pb.CreateRequest(
            resource="pods",
            namespace="demo",
            name="web",
            subresource="eviction",
            data=b'{"kind": "Eviction"}',
            dry_run=True,
            field_manager="me",
            field_validation=pb.FIELD_VALIDATION_IGNORE,
            encoding=ENCODING_JSON,
        )
    ]


@pytest.mark.parametrize(
    ("object", "sent"),
    [
        pytest.param({"data": {"ü": None}}, '{"data": {"ü": null}}', id="a mapping"),
        pytest.param({"n": 2**53 + 1}, '{"n": 9007199254740993}', id="large numbers"),
        pytest.param("data: {ü: a}", "data: {ü: a}", id="text as it is"),
        pytest.param(b"data: {}", "data: {}", id="bytes as they are"),
    ],
)
async def test_sends_the_object(
    client: AsyncClient, service: FakeService, object: ObjectBody, sent: str
) -> None:
    await client.create("configmaps", object)
    assert service.requests[0].data.decode() == sent


async def test_raises_if_the_object_exists(client: AsyncClient, service: FakeService) -> None:
    status = Status(reason="AlreadyExists")
    service.failure = Failure(grpc.StatusCode.ALREADY_EXISTS, "there is one", status)
    with pytest.raises(AlreadyExists, match="there is one"):
        await client.create("pods", {})
