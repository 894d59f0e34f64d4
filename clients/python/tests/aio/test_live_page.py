from typing import Any

import grpc
import pytest

from kubeconnect import DeadlineExceeded, Join, NotFound, ObjectKey, UnreadableObject
from kubeconnect.aio import AsyncClient
from kubeconnect.k8s.core.v1 import Pod
from kubeconnect.v1 import watch_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON, ENCODING_PROTOBUF
from tests.fake import Failure, FakeService, Silence, encoded, event, pod
from tests.live import FRESH, left, page, placed, state
from tests.logs import logged

RESET = event(pb.EVENT_TYPE_RESET, None, "")
SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")
FIRST = page(
    "t1",
    RESET,
    placed(pb.EVENT_TYPE_ADDED, "a"),
    placed(pb.EVENT_TYPE_ADDED, "b", 1),
    SYNCED,
    state=state(5),
    freshness=FRESH,
)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)


def names(found: Any) -> list[str]:
    return [each.name for each in found.objects]


async def test_yields_the_page_after_each_change(client: AsyncClient, service: FakeService) -> None:
    service.play(FIRST, page("t2", placed(pb.EVENT_TYPE_MOVED, "b", 0), state=state(5)))
    async with client.live_page("pods", limit=2) as live:
        assert names(await anext(live)) == ["a", "b"]
        second = await anext(live)
        assert live.freshness is not None
        assert repr(live).endswith("LivePage: page of pods, connected>")
    assert names(second) == ["b", "a"]
    assert [(each.type.name, each.index) for each in second.changes] == [("MOVED", 0)]


async def test_requests_the_page(client: AsyncClient, service: FakeService) -> None:
    service.play(FIRST, Silence())
    async with client.live_page(
        "pods",
        namespace="demo",
        label_selector="app=web",
        fields=["spec.nodeName"],
        order_by="spec.nodeName desc",
        limit=2,
        after=ObjectKey("demo", "x"),
        require_all_namespaces=True,
    ) as live:
        await anext(live)
    assert service.requests == [
        pb.WatchRequest(
            resource="pods",
            namespace="demo",
            label_selector="app=web",
            fields=["spec.nodeName"],
            encoding=ENCODING_JSON,
            order_by="spec.nodeName desc",
            limit=2,
            after=pb.ObjectName(namespace="demo", name="x"),
            require_all_namespaces=True,
        )
    ]


async def test_objects_have_their_related_objects(
    client: AsyncClient, service: FakeService
) -> None:
    added = placed(pb.EVENT_TYPE_ADDED, "a")
    added.object.joined.add(name="node", count=1, objects=[pod("n1", namespace="")])
    service.play(page("t1", RESET, added, SYNCED, state=state(1)))
    joins = {"node": Join("named_by", "nodes", path="spec.nodeName", fields=["metadata.name"])}
    async with client.live_page("pods", joins=joins) as live:
        node = (await anext(live)).objects[0].joined["node"].first
    assert node is not None
    assert node.name == "n1"
    assert [(each.name, each.path) for each in service.requests[0].joins] == [
        ("node", "spec.nodeName")
    ]
    with pytest.raises(ValueError, match="joins need a resource by its name"):
        client.live_page(Pod, joins=joins)  # type: ignore[call-overload]


async def test_resumes_a_lost_stream(client: AsyncClient, service: FakeService) -> None:
    service.play(
        FIRST,
        Failure(grpc.StatusCode.UNAVAILABLE),
        page("t2", left(0), state=state(4)),
    )
    async with client.live_page("pods", limit=2) as live:
        await anext(live)
        assert names(await anext(live)) == ["b"]
    assert [each.resume_token for each in service.requests] == ["", "t1"]


async def test_scrolls_to_another_page(client: AsyncClient, service: FakeService) -> None:
    gone = [left(1), left(0)]
    second = page("t2", *gone, placed(pb.EVENT_TYPE_ADDED, "c"), state=state(5, offset=2))
    service.play(FIRST, Silence(), second, Silence(), page("t3", state=state(5)))
    async with client.live_page("pods", limit=2) as live:
        await live.scroll(after=(await anext(live)).objects[-1])
        found = await anext(live)
        assert (names(found), found.offset) == (["c"], 2)
        await live.scroll(offset=0, limit=10)
        assert names(await anext(live)) == ["c"]
    places = [(each.resume_token, each.offset, each.limit) for each in service.requests]
    assert places == [("", 0, 2), ("t1", 0, 2), ("t2", 0, 10)]
    assert service.requests[1].after == pb.ObjectName(namespace="demo", name="b")


async def test_scrolling_is_no_loss(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.play(FIRST, Silence(), page("t2", state=state(5, offset=1)))
    async with client.live_page("pods", limit=2, reconnect=False) as live:
        await anext(live)
        await live.scroll(offset=1)
        assert (await anext(live)).offset == 1
    assert logged(caplog) == []


async def test_scrolls_before_the_first_page(client: AsyncClient, service: FakeService) -> None:
    service.play(FIRST, Silence(), FIRST)
    async with client.live_page("pods") as live:
        await live.scroll(offset=7)
        await anext(live)
    assert service.requests[-1].offset == 7


async def test_scrolls_after_an_error(client: AsyncClient, service: FakeService) -> None:
    service.play(Failure(grpc.StatusCode.NOT_FOUND, "no x"), FIRST)
    async with client.live_page("pods", after=("demo", "x")) as live:
        with pytest.raises(NotFound, match="no x"):
            await anext(live)
        await live.scroll(offset=0)
        assert names(await anext(live)) == ["a", "b"]


async def test_the_end_of_the_page_ends_the_iteration(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(FIRST)
    live = client.live_page("pods")
    await anext(live)
    await live.close()
    assert await anext(live, None) is None


async def test_has_messages(client: AsyncClient, service: FakeService) -> None:
    added = placed(pb.EVENT_TYPE_ADDED, "a")
    added.object.CopyFrom(encoded(pod("a", spec={"nodeName": "n1"}), ENCODING_PROTOBUF))
    service.play(page("t1", RESET, added, SYNCED, state=state(1)))
    async with client.live_page(Pod) as live:
        first = await anext(live)
    assert first.objects[0].spec.nodeName == "n1"
    assert service.requests[0].encoding == ENCODING_PROTOBUF


async def test_a_page_with_an_unreadable_message_raises(
    client: AsyncClient, service: FakeService
) -> None:
    gone = [left(1), left(0)]
    service.play(FIRST, page("t2", *gone, state=state(0)))
    async with client.live_page(Pod) as live:
        with pytest.raises(UnreadableObject):
            await anext(live)
        assert (await anext(live)).objects == ()


async def test_ends_after_its_timeout(client: AsyncClient, service: FakeService) -> None:
    service.play(Silence())
    async with client.live_page("pods", timeout=0.05) as live:
        with pytest.raises(DeadlineExceeded, match=r"watch of page of pods ended after 0.05"):
            await anext(live)


async def test_rejects_places_that_are_none(client: AsyncClient) -> None:
    with pytest.raises(ValueError, match="pass offset or after, not both"):
        client.live_page("pods", offset=1, after=("demo", "x"))
    with pytest.raises(ValueError, match="must be more than 0, not 0"):
        client.live_page("pods", limit=0)
    with pytest.raises(TypeError, match="after is an object, or a tuple"):
        client.live_page("pods", after="x")  # type: ignore[call-overload]
