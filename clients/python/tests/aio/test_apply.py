import json

import grpc
import pytest

from kubeconnect import ApplyError, Conflict, Forbidden, PatchResult, Status
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
        pytest.param("a: [", r"document 2 \(line 6\): it is not YAML", id="invalid"),
        pytest.param("a: 1\n[\n", r'"<unicode string>", line 7, column 1', id="invalid line"),
        pytest.param("- a", r"document 2 \(line 6\): it is not an object", id="a list"),
        pytest.param(
            "kind: Pod", r"document 2 \(line 6\): an object to apply needs apiVersion", id="no name"
        ),
    ],
)
async def test_nothing_is_applied_if_a_document_is_wrong(
    client: AsyncClient, service: FakeService, document: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        await client.apply_yaml(f"{NAMESPACE}---\n{document}")
    assert service.requests == []


async def test_all_documents_are_tried_and_each_has_a_result(
    client: AsyncClient, service: FakeService
) -> None:
    conflict = Status(reason="Conflict")
    service.request_id = "42"
    service.refusals += [
        Failure(grpc.StatusCode.ABORTED, "it has other owners", conflict),
        Failure(grpc.StatusCode.PERMISSION_DENIED, "no settings for you"),
    ]
    with pytest.raises(ApplyError) as caught:
        await client.apply_yaml(f"{NAMESPACE}---\n{SETTINGS}---\n{json.dumps(WEB)}")
    error = caught.value
    first, second, third = error.results
    assert error.errors == (first, second)
    assert isinstance(first, Conflict)
    assert (first.message, first.reason) == ("Namespace demo: it has other owners", "Conflict")
    assert isinstance(second, Forbidden)
    assert isinstance(third, PatchResult)
    assert third.object.name == "web"
    assert (error.code, error.reason, error.request_id) == (first.code, "Conflict", "42")
    assert error.message == (
        "2 of 3 objects were not applied: Namespace demo: it has other owners; "
        "ConfigMap settings: no settings for you"
    )
    assert len(service.requests) == 3


async def test_the_error_of_the_only_document(client: AsyncClient, service: FakeService) -> None:
    service.failure = Failure(grpc.StatusCode.ABORTED, "it has other owners")
    with pytest.raises(ApplyError, match="Namespace demo: it has other owners"):
        await client.apply_yaml(NAMESPACE)
