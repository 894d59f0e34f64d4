import pytest

from kubeconnect import TableColumn, TableRow
from kubeconnect.aio import AsyncClient, AsyncTable
from kubeconnect.v1 import table_pb2 as pb
from tests.fake import SNAPSHOT, FakeService, pod

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def _five_pods(service: FakeService) -> None:
    service.objects = [pod(name) for name in NAMES]


async def names(table: AsyncTable) -> list[str]:
    return [row.name async for row in table]


async def test_describes_its_columns(client: AsyncClient) -> None:
    table = await client.table("pods")
    assert table.columns == (
        TableColumn("Name", "string", "name", "its name", 0),
        TableColumn("Restarts", "integer", None, "", 1),
    )
    assert (table.resource.kind, table.resource_version, table.warnings) == (
        "Pod",
        SNAPSHOT,
        ("old",),
    )


async def test_has_a_row_for_each_object(client: AsyncClient) -> None:
    rows = [row async for row in await client.table("pods")]
    assert rows[0] == TableRow(("a", 2), "demo", "a", "uid-a", "7")
    assert isinstance(rows[0].cells[1], int)


async def test_is_false_without_rows(client: AsyncClient, service: FakeService) -> None:
    assert await client.table("pods")
    service.objects = []
    assert not await client.table("pods")


async def test_shows_its_size_and_columns(client: AsyncClient) -> None:
    table = await client.table("pods", page_size=2)
    assert repr(table) == f"<{type(table).__name__}: 2+ pods (Name)>"


async def test_is_shown_in_notebooks_as_kubectl_prints_it(client: AsyncClient) -> None:
    html = (await client.table("pods"))._repr_html_()
    assert '<th scope="col">Namespace</th><th scope="col">Name</th>' in html
    assert "<tr><td>demo</td><td>a</td></tr>" in html


async def test_iterates_over_all_pages_repeatedly(
    client: AsyncClient, service: FakeService
) -> None:
    table = await client.table("pods", page_size=2)
    assert len(service.requests) == 1
    assert await names(table) == await names(table) == NAMES


async def test_requests_the_same_selection_for_each_page(
    client: AsyncClient, service: FakeService
) -> None:
    await names(
        await client.table(
            "pods",
            namespace="demo",
            name="web",
            label_selector="app=web",
            field_selector="x=y",
            page_size=2,
        )
    )
    assert [request.page_token for request in service.requests] == ["", "2", "4"]
    for request in service.requests:
        request.page_token = ""
        assert request == pb.GetTableRequest(
            resource="pods",
            namespace="demo",
            name="web",
            label_selector="app=web",
            field_selector="x=y",
            page_size=2,
        )
