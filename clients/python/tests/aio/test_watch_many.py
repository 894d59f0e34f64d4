from datetime import datetime, timezone

import grpc
import pytest

from kubeconnect import Forbidden, Freshness, KubeconnectError, Source, WatchSpec, owned_by
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import consistency_pb2, relation_pb2, watch_pb2
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import End, Failure, FakeService, Silence, event, of_watch, pod

Code = grpc.StatusCode
RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
ADDED = event(watch_pb2.EVENT_TYPE_ADDED, pod("a", version="7"), "7")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
BOOKMARK = event(watch_pb2.EVENT_TYPE_BOOKMARK, None, "12")
WATCHES = {"web": WatchSpec("pods", label_selector="app=web"), "all": WatchSpec("nodes")}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)


async def test_returns_events_with_the_key_of_their_watch(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        of_watch(1, "t1", RESET, SYNCED),
        of_watch(0, "t2", RESET, ADDED),
        of_watch(0, "t3", SYNCED),
    )
    steps = []
    async with client.watch_many(WATCHES) as events:
        async for key, each in events:
            name = each.object.name if each.object else None
            steps.append((key, each.type.name, name, events.resume_token, events.synced))
            if events.synced:
                break
    assert steps == [
        ("all", "RESET", None, None, False),
        ("all", "SYNCED", None, "t1", False),
        ("web", "RESET", None, None, False),
        ("web", "ADDED", "a", "t2", False),
        ("web", "SYNCED", None, "t3", True),
    ]
    assert service.watch_ended.wait(10)


async def test_requests_each_selection(client: AsyncClient, service: FakeService) -> None:
    service.play(of_watch(0, "t5", BOOKMARK))
    watches = {
        1: WatchSpec(
            "pods",
            namespace="demo",
            name="a",
            label_selector="app=web",
            field_selector="x=y",
            filter="true",
            related=owned_by("jobs", "web", namespace="demo"),
            fields=["metadata.name"],
            metadata_only=True,
            min_resource_version="5",
            patches=True,
            require_all_namespaces=True,
        ),
        2: WatchSpec("nodes", patches=True),
    }
    async with client.watch_many(watches, resume_token="t4") as events:
        assert events.resume_token == "t4"
        assert (await anext(events))[0] == 1
    pods = watch_pb2.WatchSpec(
        resource="pods",
        namespace="demo",
        name="a",
        label_selector="app=web",
        field_selector="x=y",
        filter="true",
        related=relation_pb2.Relation(
            type=relation_pb2.RELATION_TYPE_OWNED_BY, resource="jobs", namespace="demo", name="web"
        ),
        fields=["metadata.name"],
        metadata_only=True,
        min_resource_version="5",
        encoding=ENCODING_JSON,
        require_all_namespaces=True,
    )
    nodes = watch_pb2.WatchSpec(resource="nodes", encoding=ENCODING_JSON)
    assert service.requests == [
        watch_pb2.WatchManyRequest(watches=[pods, nodes], resume_token="t4")
    ]


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(Failure(Code.UNAVAILABLE), id="the service stops"),
        pytest.param(Silence(), id="it is silent"),
        pytest.param(End(), id="the stream ends"),
    ],
)
async def test_resumes_a_lost_stream(
    client: AsyncClient,
    service: FakeService,
    monkeypatch: pytest.MonkeyPatch,
    loss: Failure | Silence | End,
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.QUIET_SECONDS", 0.05)
    service.play(of_watch(0, "t1", RESET, SYNCED), loss, of_watch(1, "t2", RESET, SYNCED))
    lost: list[KubeconnectError] = []
    async with client.watch_many(WATCHES, on_retry=lambda error, _: lost.append(error)) as events:
        keys = [(await anext(events))[0] for _ in range(4)]
        assert events.connection.connected
    assert keys == ["web", "web", "all", "all"]
    assert len(lost) == 1
    assert [request.resume_token for request in service.requests] == ["", "t1"]


async def test_applies_the_patches_of_each_watch(client: AsyncClient, service: FakeService) -> None:
    patch = event(watch_pb2.EVENT_TYPE_MODIFIED, pod("a", version="10"), "10")
    patch.object.json = b'[{"op":"replace","path":"/metadata/resourceVersion","value":"10"}]'
    patch.patch_format = watch_pb2.PATCH_FORMAT_JSON
    service.play(
        of_watch(0, "t1", RESET, ADDED, SYNCED),
        of_watch(1, "t2", RESET, SYNCED),
        Failure(Code.UNAVAILABLE),
        of_watch(0, "t3", patch),
    )
    watches = {"held": WatchSpec("pods", patches=True), "other": WatchSpec("nodes")}
    async with client.watch_many(watches) as events:
        seen = [await anext(events) for _ in range(6)]
    key, changed = seen[-1]
    assert key == "held"
    assert changed.object is not None
    expected = {"name": "a", "namespace": "demo", "resourceVersion": "10"}
    assert changed.object["metadata"] == expected
    requested = [[watch.patch_format for watch in request.watches] for request in service.requests]
    assert requested == [[watch_pb2.PATCH_FORMAT_JSON, watch_pb2.PATCH_FORMAT_UNSPECIFIED]] * 2


async def test_reports_the_freshness_of_each_watch(
    client: AsyncClient, service: FakeService
) -> None:
    contact = datetime(2026, 1, 2, 12, 31, 7, tzinfo=timezone.utc)
    stale = of_watch(1, "t2", BOOKMARK)
    stale.response.freshness.stale = True
    stale.response.freshness.last_contact_time.FromDatetime(contact)
    service.play(of_watch(0, "t1", BOOKMARK), stale)
    reported = []
    async with client.watch_many(WATCHES) as events:
        for _ in range(2):
            await anext(events)
            reported.append(events.freshness)
    assert reported == [{}, {"all": Freshness(True, contact)}]


async def test_reports_the_source_of_each_watch(client: AsyncClient, service: FakeService) -> None:
    cached, read = of_watch(1, "t1", RESET), of_watch(0, "t2", RESET)
    cached.response.source = consistency_pb2.SOURCE_CACHE
    read.response.source = consistency_pb2.SOURCE_API_SERVER
    service.play(cached, read)
    async with client.watch_many(WATCHES) as events:
        reported = [events.source]
        for _ in range(2):
            await anext(events)
            reported.append(events.source)
    both = {"all": Source.CACHE, "web": Source.API_SERVER}
    assert reported == [{}, {"all": Source.CACHE}, both]


async def test_reports_the_namespaces_and_warnings_of_each_watch(
    client: AsyncClient, service: FakeService
) -> None:
    some = of_watch(1, "t1", RESET)
    some.response.namespaces.append("demo")
    some.response.warnings.append("some only")
    service.play(some)
    async with client.watch_many(WATCHES) as events:
        await anext(events)
        assert events.namespaces == {"web": (), "all": ("demo",)}
        assert events.warnings == {"web": (), "all": ("some only",)}


async def test_raises_the_error_of_the_service(client: AsyncClient, service: FakeService) -> None:
    service.play(
        of_watch(0, "t1", RESET), Failure(Code.PERMISSION_DENIED, "watch 1 (nodes): not for you")
    )
    async with client.watch_many(WATCHES) as events:
        await anext(events)
        with pytest.raises(Forbidden, match="not for you"):
            await anext(events)
