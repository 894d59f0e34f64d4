import json

import pytest

from kubeconnect import Conflict, FieldValidation
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import write_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import FakeService, pod


async def test_returns_the_changed_object(client: AsyncClient) -> None:
    result = await client.update("pods", {"metadata": {"name": "web"}}, namespace="demo")
    assert result.object.resource_version == "8"
    assert result.object["spec"] == {"updated": True}
    assert result.object.resource.kind == "Pod"
    assert (result.warnings, result.created) == (("old",), True)


async def test_sends_all_arguments(client: AsyncClient, service: FakeService) -> None:
    await client.update(
        "pods",
        "status: {}",
        namespace="demo",
        name="web",
        subresource="status",
        uid="u1",
        resource_version="7",
        dry_run=True,
        field_manager="me",
        field_validation=FieldValidation.STRICT,
    )
    assert service.requests == [
        pb.UpdateRequest(
            resource="pods",
            namespace="demo",
            name="web",
            subresource="status",
            data=b"status: {}",
            dry_run=True,
            field_manager="me",
            field_validation=pb.FIELD_VALIDATION_STRICT,
            preconditions=pb.Preconditions(uid="u1", resource_version="7"),
            encoding=ENCODING_JSON,
        )
    ]


async def test_sends_an_object_that_was_read_with_its_version(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [pod("web", spec={"nodeName": "n1"})]
    web = await client.get("pods", "web", namespace="demo")
    await client.update("pods", {**web, "spec": {"nodeName": "n2"}})
    sent = json.loads(service.requests[-1].data)
    assert sent == {**web.to_dict(), "spec": {"nodeName": "n2"}}
    assert sent["metadata"]["resourceVersion"] == "7"


async def test_raises_if_the_object_has_changed(client: AsyncClient, service: FakeService) -> None:
    service.conflict = True
    with pytest.raises(Conflict, match="it has changed"):
        await client.update("pods", {})
