import json

import grpc
import pytest

from kubeconnect import Conflict, Status
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import write_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import Failure, FakeService, pod

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "demo"},
    "spec": {"replicas": 3},
}
SETTINGS = """\
# the settings
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  day: 2026-01-02
"""
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: demo
"""


async def test_an_object_names_its_resource(client: AsyncClient, service: FakeService) -> None:
    result = await client.apply(WEB, force=True, dry_run=True, field_validation="strict")
    assert (result.object.name, result.created) == ("web", True)
    (request,) = service.requests
    assert json.loads(request.data) == WEB
    request.data = b""
    assert request == pb.PatchRequest(
        resource="Deployment.v1.apps",
        name="web",
        data=b"",
        type=pb.PATCH_TYPE_APPLY,
        namespace="demo",
        dry_run=True,
        field_manager="kubeconnect",
        force=True,
        field_validation=pb.FIELD_VALIDATION_STRICT,
        preconditions=pb.Preconditions(),
        encoding=ENCODING_JSON,
    )


async def test_an_object_that_was_read_may_be_applied(
    client: AsyncClient, service: FakeService
) -> None:
    web = pod("web", apiVersion="v1")
    web.json = web.json.replace(b'"metadata": {', b'"metadata": {"managedFields": [{}], ')
    service.objects = [web]
    await client.apply(await client.get("pods", "web", namespace="demo"), field_manager="me")
    request = service.requests[-1]
    assert (request.resource, request.namespace, request.field_manager) == (
        "Pod.v1.",
        "demo",
        "me",
    )
    metadata = json.loads(request.data)["metadata"]
    assert metadata == {"name": "web", "namespace": "demo", "resourceVersion": "7"}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("apiVersion", {"kind": "Pod", "metadata": {"name": "web"}}),
        ("kind", {"apiVersion": "v1", "metadata": {"name": "web"}}),
        ("metadata.name", {"apiVersion": "v1", "kind": "Pod"}),
        ("metadata.name", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 7}}),
    ],
)
async def test_an_object_must_name_itself(
    client: AsyncClient, service: FakeService, path: str, content: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=f"an object to apply needs {path}"):
        await client.apply(content)
    assert service.requests == []


async def test_the_documents_of_a_text_are_sent_unchanged(
    client: AsyncClient, service: FakeService
) -> None:
    text = f"---\n{NAMESPACE}--- # next\n{SETTINGS}---\n# nothing\n"
    results = await client.apply_yaml(text, namespace="demo")
    assert [result.object.name for result in results] == ["demo", "settings"]
    discovered, first, second = service.requests
    assert discovered.group == "core"
    assert (first.resource, first.namespace, second.resource, second.namespace) == (
        "Namespace.v1.",
        "",
        "ConfigMap.v1.",
        "demo",
    )
    assert first.data.decode().strip() == NAMESPACE.strip()
    assert second.data.decode().strip() == SETTINGS.strip()


async def test_the_items_of_a_list_are_applied(client: AsyncClient, service: FakeService) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [WEB, WEB]})
    assert len(await client.apply_yaml(text.encode())) == 2
    assert [json.loads(request.data) for request in service.requests] == [WEB, WEB]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        pytest.param("a: [", "document 2: it is not YAML", id="invalid"),
        pytest.param("- a", "document 2: it is not an object", id="a list"),
        pytest.param("kind: Pod", "document 2: an object to apply needs apiVersion", id="no name"),
    ],
)
async def test_nothing_is_applied_if_a_document_is_wrong(
    client: AsyncClient, service: FakeService, document: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        await client.apply_yaml(f"{NAMESPACE}---\n{document}")
    assert service.requests == []


async def test_an_error_names_the_object_of_the_document(
    client: AsyncClient, service: FakeService
) -> None:
    status = Status(reason="Conflict")
    service.request_id = "42"
    service.failure = Failure(grpc.StatusCode.ABORTED, "it has other owners", status)
    with pytest.raises(Conflict) as caught:
        await client.apply_yaml(NAMESPACE)
    assert caught.value.message == "Namespace demo: it has other owners"
    assert (caught.value.reason, caught.value.request_id) == ("Conflict", "42")
