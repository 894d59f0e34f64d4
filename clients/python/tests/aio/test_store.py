import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from kubeconnect import (
    Cancelled,
    DeadlineExceeded,
    Forbidden,
    Freshness,
    InvalidArgument,
    NotFound,
    Object,
    WatchSpec,
)
from kubeconnect._store_indexes import IndexBy
from kubeconnect.aio import AsyncClient, AsyncStore
from kubeconnect.v1 import consistency_pb2, object_pb2, watch_pb2
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.aio.waiting import eventually
from tests.fake import PODS, End, Failure, FakeService, Silence, batch, event, of_watch, pod
from tests.logs import logged_messages

Code = grpc.StatusCode
RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
LOST = Failure(Code.UNAVAILABLE, "the service stops")
REVOKED = Failure(Code.PERMISSION_DENIED, "not allowed")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)


def added(name: str, version: int, uid: str = "", **content: Any) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_ADDED, versioned(name, version, uid, **content), str(version))


def modified(name: str, version: int, uid: str = "", **content: Any) -> watch_pb2.Event:
    subject = versioned(name, version, uid, **content)
    return event(watch_pb2.EVENT_TYPE_MODIFIED, subject, str(version))


def deleted(name: str, version: int) -> watch_pb2.Event:
    subject = object_pb2.Object(namespace="demo", name=name)
    return event(watch_pb2.EVENT_TYPE_DELETED, subject, str(version))


def versioned(name: str, version: int, uid: str = "", **content: Any) -> object_pb2.Object:
    message = pod(name, version=str(version), **content)
    message.uid = uid or message.uid
    return message


def synced(version: int) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_SYNCED, None, str(version))


def bookmark(version: int) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_BOOKMARK, None, str(version))


def fresh(*events: watch_pb2.Event, stale: bool = False) -> watch_pb2.WatchResponse:
    freshness = consistency_pb2.Freshness(stale=stale)
    return watch_pb2.WatchResponse(events=events, resource=PODS, freshness=freshness)


def names(store: AsyncStore) -> list[str]:
    return sorted(f"{each.name}@{each.resource_version}" for each in store)


class Calls:
    """Handlers that record their calls."""

    def __init__(self, store: AsyncStore) -> None:
        self.seen: list[str] = []
        self.subscription = store.subscribe(self.on_add, self.on_update, self.on_delete)

    async def on_add(self, new: Object) -> None:
        self.seen.append(f"+{new.name}@{new.resource_version}")

    def on_update(self, old: Object, new: Object) -> None:
        self.seen.append(f"{old.name}@{old.resource_version}>{new.resource_version}")

    async def on_delete(self, old: Object) -> None:
        self.seen.append(f"-{old.name}@{old.resource_version}")

    async def until(self, *calls: str) -> None:
        await eventually(lambda: len(self.seen) >= len(calls))
        assert self.seen == list(calls)
        self.seen.clear()


async def test_follows_the_cluster(client: AsyncClient, service: FakeService) -> None:
    service.play([RESET, added("a", 7), synced(9)])
    async with client.store("pods") as store:
        calls = Calls(store)
        await store.wait_synced()
        assert (names(store), len(store), store.resource_version) == (["a@7"], 1, "9")
        await calls.until("+a@7")
        service.play([modified("a", 10), added("b", 11)])
        await calls.until("a@7>10", "+b@11")
        service.play([deleted("a", 12)])
        await calls.until("-a@10")
        assert names(store) == ["b@11"]
        found = store.get("demo", "b")
        assert found is not None
        assert found["metadata"]["name"] == "b"
        assert store.get("demo", "a") is None
        assert [each.name for each in store.list("demo")] == ["b"]
        assert store.list("other") == []
        assert store.resource is not None
        assert store.resource.kind == "Pod"


async def test_asks_for_the_selection(client: AsyncClient, service: FakeService) -> None:
    service.play([RESET, synced(9)])
    async with client.store(
        "pods", namespace="demo", label_selector="app=web", fields=iter(["metadata"])
    ) as store:
        await store.wait_synced()
    assert [each for each in service.requests if isinstance(each, watch_pb2.WatchRequest)] == [
        watch_pb2.WatchRequest(
            resource="pods",
            namespace="demo",
            label_selector="app=web",
            fields=["metadata"],
            encoding=ENCODING_JSON,
        )
    ]


async def test_a_new_snapshot_replaces_the_objects_when_it_is_complete(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET, added("a", 7), added("b", 7), added("c", 7, uid="first"), synced(9)])
    async with client.store("pods") as store:
        calls = Calls(store)
        await calls.until("+a@7", "+b@7", "+c@7")
        service.play(fresh(RESET, added("b", 7), bookmark(0)))
        await eventually(lambda: store.freshness == Freshness(stale=True, last_contact_time=None))
        assert names(store) == ["a@7", "b@7", "c@7"]
        service.play([added("c", 12, uid="second"), added("d", 12), synced(13)])
        await calls.until("-a@7", "-c@7", "+c@12", "+d@12")
        assert names(store) == ["b@7", "c@12", "d@12"]


async def test_resumes_a_lost_stream(client: AsyncClient, service: FakeService) -> None:
    lost = []
    service.play(batch("t9", RESET, added("a", 7), synced(9), kind=True), LOST)
    service.play(batch("t11", modified("a", 10)))
    async with client.store("pods", on_retry=lambda error, _: lost.append(error.message)) as store:
        calls = Calls(store)
        await eventually(lambda: names(store) == ["a@10"])
        await eventually(lambda: store.connection.connected)
        await eventually(lambda: calls.seen and calls.seen[-1].endswith("10"))
    assert [request.resume_token for request in service.requests] == ["", "t9"]
    assert lost == ["the service stops"]


async def test_an_on_retry_that_fails_does_not_end_the_store(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    service.play(batch("t9", RESET, synced(9)), LOST, [added("a", 10)])
    async with client.store("pods", on_retry=fail) as store:
        await eventually(lambda: names(store) == ["a@10"])
    assert "on_retry of the store of pods failed" in caplog.text


async def test_reports_how_current_it_is(client: AsyncClient, service: FakeService) -> None:
    store = client.store("pods")
    assert (store.stale, store.connection.connected, store.closed) == (True, False, False)
    service.play(fresh(RESET, bookmark(0)))
    async with store:
        await eventually(lambda: store.connection.connected)
        assert store.stale
        service.play(fresh(synced(9)))
        await store.wait_synced()
        assert not store.stale
        assert store.freshness == Freshness(stale=False, last_contact_time=None)
        assert repr(store) in (
            "<AsyncStore of pods: 0 objects, current>",
            "<Store of pods: 0 objects, current>",
        )
        service.play(fresh(bookmark(10), stale=True))
        await eventually(lambda: store.stale)
        service.play(fresh(bookmark(11)))
        await eventually(lambda: not store.stale)
    assert store.stale
    assert store.closed


async def test_reports_warnings_and_namespaces(client: AsyncClient, service: FakeService) -> None:
    store = client.store("pods")
    assert (store.warnings, store.namespaces) == ((), ())
    response = fresh(RESET, synced(9))
    response.warnings.append("only demo")
    response.namespaces.append("demo")
    service.play(response)
    async with store:
        await store.wait_synced()
        assert (store.warnings, store.namespaces) == (("only demo",), ("demo",))


async def test_finds_objects_by_index(client: AsyncClient, service: FakeService) -> None:
    service.play([RESET, added("a", 7, spec={"nodeName": "n1"}), added("b", 7), synced(9)])
    indexes: dict[str, IndexBy] = {"node": "spec.nodeName", "length": lambda each: len(each.name)}
    async with client.store("pods", indexes=indexes) as store:
        await store.wait_synced()
        assert [each.name for each in store.by_index("node", "n1")] == ["a"]
        assert [each.name for each in store.by_index("length", 1)] == ["a", "b"]
        assert store.index_values("node") == ("n1",)
        assert store.index_errors == 0


async def test_rejects_an_index_by_no_path(client: AsyncClient) -> None:
    with pytest.raises(ValueError, match="not a field path"):
        client.store("pods", indexes={"node": "spec..nodeName"})


async def test_an_iteration_is_of_the_objects_of_now(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET, added("a", 7), added("b", 7), synced(9)])
    async with client.store("pods") as store:
        await store.wait_synced()
        objects = iter(store)
        service.play([deleted("a", 10), deleted("b", 11)])
        await eventually(lambda: len(store) == 0)
        assert [each.name for each in objects] == ["a", "b"]


async def test_a_handler_that_fails_is_logged_and_counted(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: Object) -> None:
        raise RuntimeError("broken")

    def fail_plainly(_: Object) -> None:
        raise ValueError("broken too")

    service.play([RESET, added("a", 7), synced(9)])
    with caplog.at_level(logging.ERROR, "kubeconnect"):
        async with client.store("pods") as store:
            failing = store.subscribe(fail, on_delete=fail_plainly)
            calls = Calls(store)
            await calls.until("+a@7")
            service.play([modified("a", 10), deleted("a", 11)])
            await eventually(lambda: failing.errors == 2)
            assert isinstance(failing.last_error, ValueError)
            assert store.handler_errors == 2
            await eventually(lambda: calls.seen[-1:] in (["-a@7"], ["-a@10"]))
            assert (store.error, store.closed) == (None, False)
    assert (
        logged_messages(caplog)
        == ["a handler of the store of pods failed for <Object Pod demo/a>"] * 2
    )
    assert "RuntimeError: broken" in caplog.text


async def test_a_late_subscriber_begins_with_the_objects(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET, added("a", 7), synced(9)])
    async with client.store("pods") as store:
        await store.wait_synced()
        calls = Calls(store)
        await calls.until("+a@7")


async def test_a_closed_subscription_is_not_called(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET, added("a", 7), synced(9)])
    async with client.store("pods") as store:
        closed, calls = Calls(store), Calls(store)
        await closed.until("+a@7")
        await calls.until("+a@7")
        async with closed.subscription:
            pass
        await closed.subscription.close()
        service.play([modified("a", 10)])
        await calls.until("a@7>10")
        assert closed.seen == []
        assert closed.subscription.pending == 0


async def test_a_handler_may_close_its_subscription(
    client: AsyncClient, service: FakeService
) -> None:
    seen = []

    async def once(new: Object) -> None:
        seen.append(new.name)
        await subscription.close()

    service.play([RESET, added("a", 7), added("b", 7), synced(9)])
    async with client.store("pods") as store:
        await store.wait_synced()
        subscription = store.subscribe(once)
        await eventually(lambda: seen)
        calls = Calls(store)
        await calls.until("+a@7", "+b@7")
    assert seen == ["a"]


async def test_a_handler_may_close_the_store(client: AsyncClient, service: FakeService) -> None:
    async def close(_: Object) -> None:
        await store.close()
        done.append(store.closed)

    done: list[bool] = []
    service.play([RESET, added("a", 7), synced(9)])
    async with client.store("pods") as store:
        store.subscribe(close)
        await store.wait_closed(20)
        await eventually(lambda: done)
    assert done == [True]
    assert store.error is None


async def test_an_error_that_ends_the_watch_is_raised(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    errors: list[Exception] = []
    service.play(REVOKED)
    async with client.store("pods", on_error=errors.append) as store:
        with pytest.raises(Forbidden, match="not allowed"):
            await store.wait_synced()
        with pytest.raises(Forbidden):
            await store.wait_closed()
        with pytest.raises(Forbidden):
            store.subscribe()
        await eventually(lambda: errors)
        assert isinstance(store.error, Forbidden)
        assert (store.closed, store.synced, store.stale) == (True, False, True)
    assert errors == [store.error]
    assert "the store of pods has ended: not allowed" in caplog.text


async def test_a_store_that_has_ended_keeps_its_objects(
    client: AsyncClient, service: FakeService
) -> None:
    async def fail(_: Exception) -> None:
        raise RuntimeError("broken")

    service.play([RESET, added("a", 7), synced(9)], Failure(Code.NOT_FOUND))
    async with client.store("pods", on_error=fail) as store:
        with pytest.raises(NotFound):
            await store.wait_closed()
        with pytest.raises(NotFound):
            await store.wait_synced()
        assert (names(store), store.stale) == (["a@7"], True)


async def test_a_closed_store_keeps_its_objects(client: AsyncClient, service: FakeService) -> None:
    service.play([RESET, added("a", 7), synced(9)])
    async with client.store("pods") as store:
        await store.wait_synced()
    assert service.watch_ended.wait(10)
    await store.close()
    await store.wait_closed()
    assert (names(store), store.closed, store.error) == (["a@7"], True, None)
    with pytest.raises(Cancelled, match="the store of pods is closed"):
        await store.wait_synced()
    with pytest.raises(Cancelled):
        store.subscribe()
    with pytest.raises(Cancelled):
        store.start()


async def test_closing_the_client_closes_its_stores(service: FakeService) -> None:
    service.play([RESET, synced(9)])
    async with AsyncClient(service.address) as client:
        store = client.store("pods")
        store.start()
        store.start()
        await store.wait_synced()
    assert (store.closed, store.error) == (True, None)
    with pytest.raises(Cancelled):
        client.store("pods").start()


async def test_waiting_has_a_timeout(client: AsyncClient, service: FakeService) -> None:
    service.play(batch("", RESET), LOST, Silence())
    async with client.store("pods") as store:
        await eventually(lambda: len(service.requests) == 2)
        with pytest.raises(
            DeadlineExceeded,
            match=r"pods is not in sync after 0\.05 seconds; the last error: the service stops",
        ):
            await store.wait_synced(0.05)
        with pytest.raises(DeadlineExceeded, match=r"pods is not closed after 0\.05 seconds"):
            await store.wait_closed(0.05)
        with pytest.raises(ValueError, match="more than 0"):
            await store.wait_synced(0)


async def test_waiting_needs_a_started_store(client: AsyncClient) -> None:
    with pytest.raises(RuntimeError, match="the store of pods is not started"):
        await client.store("pods").wait_synced()


async def test_goes_on_from_a_dump(
    client: AsyncClient, service: FakeService, tmp_path: Path
) -> None:
    file = tmp_path / "pods"
    service.play(batch("t9", RESET, added("a", 7), added("b", 7), synced(9), kind=True))
    async with client.store("pods", restore=file) as store:
        await store.wait_synced()
        await store.dump(file)
        assert store.dumps() == file.read_bytes()
    assert service.watch_ended.wait(10)
    async with client.store("pods", restore=file, patches=True) as store:
        assert names(store) == ["a@7", "b@7"]
        assert (store.synced, store.resource_version) == (False, "9")
        calls = Calls(store)
        await calls.until("+a@7", "+b@7")
        service.play(batch("t11", modified("a", 10)), batch("t12", deleted("b", 11), bookmark(12)))
        await store.wait_synced()
        assert names(store) == ["a@10"]
        await calls.until("a@7>10", "-b@7")
        found = store.get("demo", "a")
        assert found is not None
        assert found.resource.kind == "Pod"
    assert [request.resume_token for request in service.requests] == ["", "t9"]
    assert service.requests[1].patch_format == watch_pb2.PATCH_FORMAT_UNSPECIFIED


async def test_a_dump_within_a_snapshot_has_no_token(
    client: AsyncClient, service: FakeService
) -> None:
    snapshot = fresh(RESET, added("a", 7), synced(9))
    snapshot.resume_token = "t9"
    service.play(snapshot)
    async with client.store("pods") as store:
        await eventually(lambda: not store.stale)
        service.play(fresh(RESET, added("b", 10)))
        await eventually(lambda: store.stale)
        assert store.connection.connected
        dump = store.dumps()
    assert service.watch_ended.wait(10)
    async with client.store("pods", restore=dump) as store:
        assert names(store) == ["a@7"]
        calls = Calls(store)
        service.play([RESET, added("a", 7), added("c", 12), synced(13)])
        await store.wait_synced()
        assert names(store) == ["a@7", "c@12"]
        await calls.until("+a@7", "+c@12")
    assert [request.resume_token for request in service.requests] == ["", ""]


async def test_begins_with_a_snapshot_if_the_dump_cannot_be_used(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    service.play(batch("t9", RESET, added("a", 7), synced(9), kind=True))
    async with client.store("pods") as store:
        await store.wait_synced()
        dump = store.dumps()
    for restore in (dump[:-1], tmp_path / "missing"):
        assert len(client.store("pods", restore=restore)) == 0
    assert len(client.store("nodes", restore=dump)) == 0
    assert logged_messages(caplog) == [
        "the dump of pods is not used: it is incomplete or damaged",
        "the dump of nodes is not used: it is of another selection",
    ]


async def test_begins_with_a_snapshot_if_the_service_rejects_the_token(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(batch("t9", RESET, added("a", 7), synced(9), kind=True))
    async with client.store("pods") as store:
        await store.wait_synced()
        dump = store.dumps()
    assert service.watch_ended.wait(10)
    service.play(Failure(Code.INVALID_ARGUMENT, "bad token"), [RESET, added("b", 7), synced(9)])
    async with client.store("pods", restore=dump) as store:
        calls = Calls(store)
        await store.wait_synced()
        assert names(store) == ["b@7"]
        await eventually(lambda: calls.seen[-1:] == ["+b@7"])
    assert [request.resume_token for request in service.requests] == ["", "t9", ""]


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.get("demo", "a"),
        lambda store: store.list(),
        lambda store: list(store),
        lambda store: len(store),
        lambda store: bool(store),
        lambda store: store.by_index("node", "n1"),
        lambda store: store.index_values("node"),
    ],
)
async def test_a_store_that_was_not_started_has_no_answer(
    client: AsyncClient, service: FakeService, read: Callable[[AsyncStore], object]
) -> None:
    store = client.store("pods", indexes={"node": "spec.nodeName"})
    with pytest.raises(RuntimeError, match="the store of pods is not started: use it in a with"):
        read(store)
    assert "0 objects" in repr(store)
    stores = client.stores({"web": "pods"}, indexes={"web": {"node": "spec.nodeName"}})
    with pytest.raises(RuntimeError, match="the store of pods is not started: use it in a with"):
        read(stores["web"])
    async with store:
        read(store)
    read(store)
    read(client.store("pods", indexes={"node": "spec.nodeName"}, restore="missing.store"))


async def test_an_invalid_selection_ends_the_store(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(Failure(Code.INVALID_ARGUMENT, "bad filter"))
    async with client.store("pods", filter="(") as store:
        with pytest.raises(InvalidArgument, match="bad filter"):
            await store.wait_synced()
    assert len(service.requests) == 1


async def test_indexes_of_no_store_are_refused(client: AsyncClient) -> None:
    with pytest.raises(ValueError, match="indexes of 'typo', but no watch has this key"):
        client.stores({"web": "pods"}, indexes={"typo": {"node": "spec.nodeName"}})


async def test_several_stores_share_a_stream(client: AsyncClient, service: FakeService) -> None:
    watches: dict[str, WatchSpec | str] = {
        "web": WatchSpec("pods", namespace="demo"),
        "all": "nodes",
    }
    service.play(of_watch(0, "t1", RESET, added("a", 7, spec={"nodeName": "n1"}), synced(9)))
    async with client.stores(watches, indexes={"web": {"node": "spec.nodeName"}}) as stores:
        assert (list(stores), len(stores)) == (["web", "all"], 2)
        await stores["web"].wait_synced()
        assert (names(stores["web"]), stores["web"].synced, stores.synced) == (["a@7"], True, False)
        assert [each.name for each in stores["web"].by_index("node", "n1")] == ["a"]
        calls = Calls(stores["all"])
        response = of_watch(1, "t2", RESET, added("n1", 8), synced(9))
        response.response.freshness.stale = False
        response.response.warnings.append("careful")
        service.play(response)
        await stores.wait_synced()
        await calls.until("+n1@8")
        assert (stores["all"].warnings, stores["web"].warnings) == (("careful",), ())
        assert (stores["all"].namespaces, stores["all"].stale) == ((), False)
        assert (stores["web"].stale, stores.stale) == (True, True)
        assert stores.connection.connected
    assert all(store.closed for store in stores.values())


async def test_several_stores_go_on_from_one_dump(
    client: AsyncClient, service: FakeService, tmp_path: Path
) -> None:
    watches = {"web": WatchSpec("pods", fields=iter(["metadata"])), "all": WatchSpec("nodes")}
    service.play(
        of_watch(0, "t1", RESET, added("a", 7), synced(9)), of_watch(1, "t2", RESET, synced(9))
    )
    async with client.stores(watches) as stores:
        await stores.wait_synced()
        await stores.dump(tmp_path / "both")
        with pytest.raises(ValueError, match="dump the stores together"):
            stores["web"].dumps()
    assert service.watch_ended.wait(10)
    watches["web"] = WatchSpec("pods", fields=["metadata"])
    service.play(of_watch(1, "t3", added("n1", 10)), of_watch(1, "t4", bookmark(11)))
    async with client.stores(watches, restore=tmp_path / "both") as stores:
        await stores["all"].wait_synced()
        assert (names(stores["web"]), names(stores["all"])) == (["a@7"], ["n1@10"])
        assert not stores["web"].synced
        service.play(of_watch(0, "t5", bookmark(11)))
        await stores.wait_synced()
    assert [request.resume_token for request in service.requests] == ["", "t2"]
    assert len({str(request.watches) for request in service.requests}) == 1


async def test_one_rejected_watch_ends_all_stores(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(of_watch(0, "t1", RESET, synced(9)), REVOKED)
    async with client.stores({"web": "pods", "all": "nodes"}) as stores:
        with pytest.raises(Forbidden):
            await stores.wait_synced()
        assert isinstance(stores["web"].error, Forbidden)
        with pytest.raises(Forbidden):
            await stores["all"].wait_synced()


async def test_a_stream_that_ends_is_opened_again(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(batch("t9", RESET, synced(9)), End(), [added("a", 10)])
    async with client.store("pods") as store:
        await eventually(lambda: names(store) == ["a@10"])
