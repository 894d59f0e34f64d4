import grpc
import pytest

from kubeconnect import Cancelled, EventType, Forbidden, Status, Unavailable
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import End, Failure, FakeService, event, pod

RESET = event(pb.EVENT_TYPE_RESET, None, "")
SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")


async def test_hands_out_the_events_of_each_batch_in_order(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        [RESET, event(pb.EVENT_TYPE_ADDED, pod("a", version="7"), "7"), SYNCED],
        [event(pb.EVENT_TYPE_MODIFIED, pod("a", version="10"), "10")],
        [event(pb.EVENT_TYPE_DELETED, pod("a", version="10"), "11")],
        [event(pb.EVENT_TYPE_BOOKMARK, None, "12")],
    )
    seen = []
    async with client.watch("pods") as events:
        async for each in events:
            seen.append((each.type, each.object and each.object.name, each.resource_version))
            if each.type is EventType.BOOKMARK:
                break
    assert seen == [
        (EventType.RESET, None, ""),
        (EventType.ADDED, "a", "7"),
        (EventType.SYNCED, None, "9"),
        (EventType.MODIFIED, "a", "10"),
        (EventType.DELETED, "a", "11"),
        (EventType.BOOKMARK, None, "12"),
    ]


async def test_remembers_the_kind_that_only_the_first_batch_names(
    client: AsyncClient, service: FakeService
) -> None:
    added = [event(pb.EVENT_TYPE_ADDED, pod("a"), "7")]
    service.play([RESET], pb.WatchResponse(events=added))
    async with client.watch("pods") as events:
        await anext(events)
        found = (await anext(events)).object
    assert found is not None
    assert found.kind.kind == "Pod"


async def test_leaves_out_types_that_it_does_not_know(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([event(99, None, ""), SYNCED])  # type: ignore[arg-type]
    async with client.watch("pods") as events:
        assert (await anext(events)).type is EventType.SYNCED


async def test_asks_for_the_selection(client: AsyncClient, service: FakeService) -> None:
    service.play([RESET])
    selection = {
        "namespace": "demo",
        "name": "a",
        "label_selector": "app=web",
        "field_selector": "x=y",
    }
    async with client.watch("pods", **selection) as events:
        await anext(events)
    assert service.requests == [
        pb.WatchRequest(resource="pods", encoding=ENCODING_JSON, **selection)
    ]


async def test_closing_frees_the_stream_at_the_service(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET, SYNCED])
    async with client.watch("pods") as events:
        await anext(events)
    assert service.watch_ended.wait(10)
    assert [each async for each in events] == []
    await events.close()


async def test_closing_the_client_ends_its_watches(service: FakeService) -> None:
    service.play([RESET])
    async with AsyncClient(service.address) as client:
        events = client.watch("pods")
        await anext(events)
    assert service.watch_ended.wait(10)
    with pytest.raises(Cancelled):
        await anext(events)


async def test_raises_when_the_service_ends_the_stream(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET], End())
    async with client.watch("pods") as events:
        await anext(events)
        with pytest.raises(Unavailable, match="has ended"):
            await anext(events)


async def test_raises_what_the_service_says(client: AsyncClient, service: FakeService) -> None:
    status = Status(reason="Forbidden", message="no pods for you")
    service.play([RESET], Failure(grpc.StatusCode.PERMISSION_DENIED, "no pods for you", status))
    async with client.watch("pods") as events:
        await anext(events)
        with pytest.raises(Forbidden, match="no pods for you") as caught:
            await anext(events)
    assert caught.value.reason == "Forbidden"
