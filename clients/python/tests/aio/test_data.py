from collections.abc import Iterator

import pytest

from kubeconnect import Column
from kubeconnect.aio import AsyncClient, AsyncObjectList, AsyncTable
from kubeconnect.k8s.core.v1 import Pod
from tests.fake import PODS, FakeService, pod

NODES = {"a": "n1", "b": None, "c": "n2"}
RECORDS = [{"namespace": "demo", "name": name, "node": node} for name, node in NODES.items()]


@pytest.fixture(autouse=True)
def _three_pods(service: FakeService) -> None:
    service.objects = [
        pod(name, spec={"nodeName": node} if node else {}) for name, node in NODES.items()
    ]


async def test_records_of_all_pages_have_the_fields_of_the_list(
    client: AsyncClient, service: FakeService
) -> None:
    pods = await client.list("pods", fields={"node": "spec.nodeName"}, page_size=2)
    assert await pods.to_records() == RECORDS
    assert [list(each.fields) for each in service.requests] == [["spec.nodeName"]] * 2


async def test_fields_may_be_an_iterator_of_paths_and_columns(
    client: AsyncClient, service: FakeService
) -> None:
    fields: list[str | Column] = ["spec.nodeName", Column("metadata.name", "string")]
    pods = await client.list("pods", fields=iter(fields))
    assert list(service.requests[-1].fields) == ["spec.nodeName", "metadata.name"]
    (first, *_) = await pods.to_records()
    assert first == {
        "namespace": "demo",
        "name": "a",
        "spec.nodeName": "n1",
        "metadata.name": "a",
    }


async def test_other_fields_may_be_given_later(client: AsyncClient) -> None:
    pods = await client.list("pods")
    assert await pods.to_records({"node": "spec.nodeName"}) == RECORDS
    assert list((await pods.to_records())[0]) == ["namespace", "name", "uid", "created", "labels"]


async def test_rejects_fields_that_the_list_does_not_have(client: AsyncClient) -> None:
    pods = await client.list("pods", fields=["spec", "status.phase"])
    assert await pods.to_records({"node": "spec.nodeName"}) == RECORDS
    assert await pods.to_records(["status"])
    with pytest.raises(ValueError, match=r"'status.reason' is not among the fields of the list"):
        await pods.to_records(["status.reason"])
    metadata = await client.list("pods", metadata_only=True)
    assert await metadata.to_records()
    with pytest.raises(ValueError, match=r"'spec.nodeName' is not among the fields"):
        await metadata.to_records(["spec.nodeName"])


async def test_fields_in_notations_that_only_the_service_reads(client: AsyncClient) -> None:
    pods = await client.list("pods", fields=["spec.['nodeName']"])
    assert await pods.to_records({"node": "spec.nodeName"}) == RECORDS


async def test_messages_have_records(client: AsyncClient) -> None:
    pods = await client.list(Pod, fields={"node": "spec.nodeName"})
    assert await pods.to_records() == RECORDS


@pytest.fixture
def _cluster_scoped() -> Iterator[None]:
    PODS.namespaced = False
    yield
    PODS.namespaced = True


@pytest.mark.usefixtures("_cluster_scoped")
async def test_cluster_scoped_objects_have_no_namespace(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = []
    pods = await client.list("pods", fields=["spec.nodeName"])
    assert list((await pods.to_pandas()).columns) == ["name", "spec.nodeName"]
    table = await client.table("pods")
    assert list((await table.to_pandas()).columns) == ["Name", "Restarts"]


async def test_records_begin_again_if_the_list_expires(
    client: AsyncClient, service: FakeService
) -> None:
    service.expiring = 1
    pods = await client.list("pods", fields={"node": "spec.nodeName"}, page_size=2)
    assert await pods.to_records() == RECORDS


async def test_a_list_as_frames(client: AsyncClient) -> None:
    pods: AsyncObjectList = await client.list("pods", fields={"node": "spec.nodeName"})
    pandas, polars, arrow = await pods.to_pandas(), await pods.to_polars(), await pods.to_arrow()
    assert pandas["node"].fillna("").tolist() == ["n1", "", "n2"]
    assert polars.to_dicts() == arrow.to_pylist() == RECORDS


async def test_a_table_as_frames(client: AsyncClient) -> None:
    table: AsyncTable = await client.table("pods", page_size=2)
    records = [{"Namespace": "demo", "Name": name, "Restarts": 2} for name in NODES]
    assert await table.to_records() == records
    pandas, polars, arrow = await table.to_pandas(), await table.to_polars(), await table.to_arrow()
    assert pandas.to_dict("records") == polars.to_dicts() == arrow.to_pylist() == records
    assert str(pandas["Restarts"].dtype) == "Int64"
