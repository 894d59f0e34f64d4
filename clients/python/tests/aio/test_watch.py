from __future__ import annotations

import logging
import socket
from datetime import datetime, timezone, tzinfo
from typing import Any

import grpc
import pytest

from kubeconnect import (
    Cancelled,
    Connection,
    DeadlineExceeded,
    EventType,
    Forbidden,
    Freshness,
    KubeconnectError,
    Source,
    Status,
    Unavailable,
    selected_by,
)
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import consistency_pb2, relation_pb2, watch_pb2
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import PODS, End, Failure, FakeService, Silence, batch, event, pod, serve
from tests.logs import logged

Code = grpc.StatusCode
RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
ADDED = event(watch_pb2.EVENT_TYPE_ADDED, pod("a", version="7"), "7")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
MODIFIED = event(watch_pb2.EVENT_TYPE_MODIFIED, pod("a", version="10"), "10")
DELETED = event(watch_pb2.EVENT_TYPE_DELETED, pod("a", version="10"), "11")
BOOKMARK = event(watch_pb2.EVENT_TYPE_BOOKMARK, None, "12")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)


async def test_returns_the_events_of_each_batch_in_order(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        [RESET, ADDED, SYNCED],
        [MODIFIED],
        [DELETED],
        [BOOKMARK],
    )
    seen = []
    async with client.watch("pods") as events:
        async for each in events:
            seen.append((each.type, each.object and each.object.name, each.resource_version))
            if each.type is EventType.BOOKMARK:
                break
    assert seen == [
        (EventType.RESET, None, None),
        (EventType.ADDED, "a", "7"),
        (EventType.SYNCED, None, "9"),
        (EventType.MODIFIED, "a", "10"),
        (EventType.DELETED, "a", "11"),
        (EventType.BOOKMARK, None, "12"),
    ]


async def test_keeps_the_kind_of_the_first_batch(client: AsyncClient, service: FakeService) -> None:
    service.play([RESET], batch("", ADDED))
    async with client.watch("pods") as events:
        await anext(events)
        found = (await anext(events)).object
    assert found is not None
    assert found.resource.kind == "Pod"


async def test_omits_events_of_unknown_types(client: AsyncClient, service: FakeService) -> None:
    service.play([event(99, None, ""), SYNCED])  # type: ignore[arg-type]
    async with client.watch("pods") as events:
        assert (await anext(events)).type is EventType.SYNCED


async def test_applies_patches_across_a_lost_stream(
    client: AsyncClient, service: FakeService
) -> None:
    patch = event(watch_pb2.EVENT_TYPE_MODIFIED, pod("a", version="10"), "10")
    patch.object.json = b'[{"op":"replace","path":"/metadata/resourceVersion","value":"10"}]'
    patch.patch_format = watch_pb2.PATCH_FORMAT_JSON
    service.play(batch("t9", RESET, ADDED, SYNCED), Failure(Code.UNAVAILABLE), batch("t10", patch))
    async with client.watch("pods", patches=True) as events:
        before = [await anext(events) for _ in range(3)][1].object
        after = (await anext(events)).object
    assert before is not None
    assert after is not None
    assert after["metadata"] == {**before["metadata"], "resourceVersion": "10"}
    assert [request.patch_format for request in service.requests] == [
        watch_pb2.PATCH_FORMAT_JSON
    ] * 2
    assert service.requests[1].resume_token == "t9"


async def test_requests_whole_objects_after_a_stored_token(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([BOOKMARK])
    async with client.watch("pods", patches=True, resume_token="t9") as events:
        await anext(events)
    assert service.requests[0].patch_format == watch_pb2.PATCH_FORMAT_UNSPECIFIED


async def test_requests_the_selection(client: AsyncClient, service: FakeService) -> None:
    service.play([RESET])
    selection: dict[str, Any] = {
        "namespace": "demo",
        "name": "a",
        "label_selector": "app=web",
        "field_selector": "x=y",
        "filter": "object.spec.replicas > 3",
        "fields": ["metadata.name"],
        "metadata_only": True,
        "min_resource_version": "5",
        "require_all_namespaces": True,
        "resume_token": "t4",
    }
    service_web = selected_by("services", "web", namespace="demo")
    async with client.watch("pods", related=service_web, **selection) as events:
        await anext(events)
    related = relation_pb2.Relation(
        type=relation_pb2.RELATION_TYPE_SELECTED_BY,
        resource="services",
        namespace="demo",
        name="web",
    )
    assert service.requests == [
        watch_pb2.WatchRequest(
            resource="pods", related=related, encoding=ENCODING_JSON, **selection
        )
    ]


@pytest.mark.parametrize(
    ("namespace", "name", "shown"),
    [
        (None, None, "pods"),
        ("demo", None, "pods demo"),
        ("demo", "a", "pods demo/a"),
        (None, "a", "pods a"),
    ],
)
async def test_shows_what_it_watches(
    client: AsyncClient, service: FakeService, namespace: str | None, name: str | None, shown: str
) -> None:
    service.play([RESET])
    async with client.watch("pods", namespace=namespace, name=name) as events:
        await anext(events)
        assert repr(events) == f"<{type(events).__name__}: {shown}, connected>"
    assert repr(events).endswith("not connected>")


async def test_closing_ends_the_stream_at_the_service(
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


async def test_resume_token_follows_the_returned_events(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        [RESET, ADDED], batch("t9", SYNCED), batch("t11", MODIFIED, DELETED), [RESET, SYNCED]
    )
    steps = []
    async with client.watch("pods", resume_token="t4") as events:
        assert events.resume_token == "t4"
        for _ in range(6):
            event = await anext(events)
            steps.append((event.type.name, events.resume_token))
    assert steps == [
        ("RESET", None),
        ("ADDED", None),
        ("SYNCED", "t9"),
        ("MODIFIED", "t9"),
        ("DELETED", "t11"),
        ("RESET", None),
    ]


async def test_reports_its_freshness(client: AsyncClient, service: FakeService) -> None:
    contact = datetime(2026, 1, 2, 12, 31, 7, tzinfo=timezone.utc)
    stale = consistency_pb2.Freshness(stale=True)
    stale.last_contact_time.FromDatetime(contact)
    service.play([SYNCED], watch_pb2.WatchResponse(events=[BOOKMARK], freshness=stale), [BOOKMARK])
    reported = []
    async with client.watch("pods") as events:
        for _ in range(3):
            await anext(events)
            reported.append(events.freshness)
    assert reported == [None, Freshness(True, contact), Freshness(True, contact)]


async def test_reports_the_source(client: AsyncClient, service: FakeService) -> None:
    service.play(
        watch_pb2.WatchResponse(
            resource=PODS, source=consistency_pb2.SOURCE_CACHE, events=[SYNCED], resume_token="t9"
        ),
        batch("t10", MODIFIED),
        End(),
        batch("t11", DELETED),
        watch_pb2.WatchResponse(
            resource=PODS, source=consistency_pb2.SOURCE_API_SERVER, events=[RESET]
        ),
    )
    async with client.watch("pods") as events:
        reported = [events.source]
        for _ in range(4):
            await anext(events)
            reported.append(events.source)
    assert reported == [None, Source.CACHE, Source.CACHE, Source.CACHE, Source.API_SERVER]


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(Failure(Code.UNAVAILABLE), id="the service stops"),
        pytest.param(Failure(Code.INTERNAL), id="the transport is reset"),
        pytest.param(End(), id="the stream ends"),
    ],
)
async def test_resumes_a_lost_stream(
    client: AsyncClient, service: FakeService, loss: Failure | End
) -> None:
    service.play(batch("t9", RESET, ADDED, SYNCED, kind=True), loss, loss, batch("t10", MODIFIED))
    async with client.watch("pods", namespace="demo") as events:
        seen = [await anext(events) for _ in range(4)]
    assert [each.type.name for each in seen] == ["RESET", "ADDED", "SYNCED", "MODIFIED"]
    assert seen[3].object is not None
    assert seen[3].object.resource.kind == "Pod"
    assert [request.resume_token for request in service.requests] == ["", "t9", "t9"]
    assert {request.namespace for request in service.requests} == {"demo"}


async def test_resumes_at_a_restarted_service() -> None:
    with serve() as service:
        service.play(batch("t9", RESET, SYNCED))
        client = AsyncClient(service.address)
        events = client.watch("pods")
        seen = [(await anext(events)).type.name for _ in range(2)]
    port = int(service.address.rsplit(":")[-1])
    with serve(port=port) as another:
        another.play(batch("t10", BOOKMARK))
        seen.append((await anext(events)).type.name)
        await client.close()
    assert seen == ["RESET", "SYNCED", "BOOKMARK"]
    assert [request.resume_token for request in another.requests] == ["t9"]


async def test_restarts_an_interrupted_snapshot(client: AsyncClient, service: FakeService) -> None:
    service.play([RESET, ADDED], Failure(Code.UNAVAILABLE), [RESET, ADDED, SYNCED])
    async with client.watch("pods", resume_token="t4") as events:
        seen = [(await anext(events)).type.name for _ in range(5)]
    assert seen == ["RESET", "ADDED", "RESET", "ADDED", "SYNCED"]
    assert [request.resume_token for request in service.requests] == ["t4", ""]


async def test_resumes_a_silent_stream(
    client: AsyncClient, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.QUIET_SECONDS", 0.05)
    service.play(batch("t9", RESET, SYNCED), Silence(), batch("t10", BOOKMARK))
    async with client.watch("pods") as events:
        seen = [(await anext(events)).type.name for _ in range(3)]
    assert seen == ["RESET", "SYNCED", "BOOKMARK"]
    assert [request.resume_token for request in service.requests] == ["", "t9"]
    assert len(set(service.peers)) == 2


async def test_moves_without_ending_other_streams_of_the_connection(
    client: AsyncClient, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.QUIET_SECONDS", 0.05)
    service.log = [b"begun\n", Silence()]
    async with client.logs("web", namespace="demo") as log:
        assert await anext(aiter(log)) == "begun"
        for token in ("t9", "t10", "t11"):
            service.play(batch(token, BOOKMARK), Silence())
        service.play(batch("t12", BOOKMARK))
        async with client.watch("pods") as events:
            for _ in range(4):
                await anext(events)
        assert not service.log_ended.is_set()
    await client.list("pods")
    assert len(set(service.peers)) == 4


async def test_stays_with_a_replica_that_is_stale(
    client: AsyncClient, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another replica is current, the service ends the stream itself."""

    class Hours(datetime):
        count = 0

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Hours:
            cls.count += 1
            return cls(2026, 1, 2, cls.count, tzinfo=tz)

    monkeypatch.setattr("kubeconnect._watch_session.datetime", Hours)
    service.play(of_freshness("t9", stale=True), of_freshness("t10", stale=True))
    service.play(of_freshness("t11", stale=False))
    async with client.watch("pods") as events:
        seen = []
        for _ in range(3):
            await anext(events)
            seen.append(events.freshness)
    assert seen == [Freshness(True, None), Freshness(True, None), Freshness(False, None)]
    assert len(service.requests) == 1


async def test_resumes_a_stream_that_the_service_moves(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubeconnect")
    moved = Failure(Code.UNAVAILABLE, "a sibling is current", Status(reason="StreamMoved"))
    service.play(of_freshness("t9", stale=True), moved, of_freshness("t10", stale=False))
    async with client.watch("pods") as events:
        for _ in range(2):
            await anext(events)
        assert events.freshness == Freshness(False, None)
    assert [request.resume_token for request in service.requests] == ["", "t9"]
    assert {each.levelname for each in logged(caplog)} == {"INFO"}


async def test_begins_again_if_its_token_is_rejected(
    client: AsyncClient, service: FakeService
) -> None:
    damaged = Failure(Code.INVALID_ARGUMENT, "resume_token is damaged")
    service.play(batch("t9", RESET, SYNCED), End(), damaged, batch("t1", RESET, SYNCED))
    async with client.watch("pods") as events:
        seen = [(await anext(events)).type.name for _ in range(4)]
    assert seen == ["RESET", "SYNCED", "RESET", "SYNCED"]
    assert [request.resume_token for request in service.requests] == ["", "t9", ""]


def of_freshness(token: str, *, stale: bool) -> watch_pb2.WatchResponse:
    return watch_pb2.WatchResponse(
        events=[BOOKMARK], resume_token=token, freshness=consistency_pb2.Freshness(stale=stale)
    )


async def test_retries_the_first_stream_after_the_delay_of_the_service(
    client: AsyncClient, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KubeconnectError, "retry_after_seconds", 0.01)
    service.refusals.append(Failure(Code.RESOURCE_EXHAUSTED, status=Status(retry_after_seconds=1)))
    service.play(batch("t9", RESET, SYNCED))
    async with client.watch("pods") as events:
        assert (await anext(events)).type.name == "RESET"
    assert len(service.requests) == 2


async def test_reports_disconnection_and_resumption(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.play(
        of_freshness("t9", stale=False),
        Failure(Code.UNAVAILABLE, "the service stops"),
        of_freshness("t10", stale=False),
    )
    lost: list[tuple[str, float, Connection, Freshness | None]] = []

    def record(error: KubeconnectError, delay: float) -> None:
        lost.append((str(error), delay, events.connection, events.freshness))

    async with client.watch("pods", on_retry=record) as events:
        assert not events.connection.connected
        await anext(events)
        first = events.connection
        await anext(events)
        second = events.connection
    ((message, delay, meanwhile, stale),) = lost
    assert (message, delay, stale) == ("the service stops", 0.0, Freshness(True, None))
    connections = [first, meanwhile, second, events.connection]
    assert [each.connected for each in connections] == [True, False, True, False]
    assert first.since <= meanwhile.since <= second.since
    assert events.freshness == Freshness(True, None)
    assert [each.levelname for each in logged(caplog)] == ["WARNING"]
    assert "the service stops" in caplog.text


async def test_raises_if_no_message_is_ever_received(
    client: AsyncClient, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_MESSAGE_SECONDS", 0.05)
    service.play(Silence())
    async with client.watch("pods") as events:
        with pytest.raises(Unavailable, match=r"no message received for 0.05 seconds"):
            await anext(events)


async def test_ends_with_an_error_after_its_timeout(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(batch("t9", RESET, SYNCED))
    async with client.watch("pods", timeout=0.1) as events:
        with pytest.raises(DeadlineExceeded, match=r"^the watch of pods ended after 0.1 seconds$"):
            [each async for each in events]
        assert not events.connection.connected
        assert [each async for each in events] == []
    assert len(service.requests) <= 1  # it was not opened again


async def test_the_timeout_includes_the_delays_between_streams(
    client: AsyncClient, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 3600.0)
    monkeypatch.setattr("kubeconnect._watch_session.MAX_DELAY_SECONDS", 3600.0)
    service.play([RESET, SYNCED], End())
    async with client.watch("pods", timeout=0.5) as events:
        with pytest.raises(DeadlineExceeded):
            [each async for each in events]


async def test_the_timeout_ends_a_watch_that_has_more_events(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET, SYNCED], [BOOKMARK])
    async with client.watch("pods", timeout=1e-9) as events:
        with pytest.raises(DeadlineExceeded):
            await anext(events)


async def test_refuses_a_timeout_that_is_none(client: AsyncClient) -> None:
    with pytest.raises(ValueError, match="timeout must be more than 0 seconds, not 0"):
        client.watch("pods", timeout=0)


async def test_reports_its_namespaces_and_warnings(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        watch_pb2.WatchResponse(
            resource=PODS, events=[SYNCED], namespaces=["demo"], warnings=["some only"]
        )
    )
    async with client.watch("pods") as events:
        assert (events.namespaces, events.warnings) == ((), ())
        await anext(events)
        assert (events.namespaces, events.warnings) == (("demo",), ("some only",))


async def test_raises_if_the_service_is_unreachable_at_first() -> None:
    with socket.socket() as not_listening:
        not_listening.bind(("127.0.0.1", 0))
        port = not_listening.getsockname()[1]
        async with AsyncClient(f"127.0.0.1:{port}") as client, client.watch("pods") as events:
            with pytest.raises(Unavailable):
                await anext(events)


async def test_without_reconnect_raises_when_the_stream_ends(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET], End())
    async with client.watch("pods", reconnect=False) as events:
        await anext(events)
        with pytest.raises(Unavailable, match="the service ended the watch"):
            await anext(events)


async def test_raises_the_error_of_the_service(client: AsyncClient, service: FakeService) -> None:
    status = Status(reason="Forbidden", message="no pods for you")
    service.play([RESET], Failure(Code.PERMISSION_DENIED, "no pods for you", status))
    async with client.watch("pods") as events:
        await anext(events)
        with pytest.raises(Forbidden, match="no pods for you") as caught:
            await anext(events)
    assert caught.value.reason == "Forbidden"
