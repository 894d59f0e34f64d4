import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict

from kubeconnect import (
    DeadlineExceeded,
    Forbidden,
    LeadershipLost,
    NotFound,
    Object,
    ObjectKey,
    Status,
    TooManyRequests,
    WatchSpec,
)
from kubeconnect.aio import AsyncClient, AsyncController, AsyncLeaderElector
from kubeconnect.v1.write_pb2 import PatchRequest
from tests.clock import MovedClock
from tests.cluster_service import ClusterService, owner, serve_cluster
from tests.fake import Failure, pod
from tests.logs import logged_messages
from tests.running import AsyncRunning

Code = grpc.StatusCode
CRONTABS = "crontabs.stable.example.com"
CRONTAB = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a"}}


@pytest.fixture
def service() -> Iterator[ClusterService]:
    with serve_cluster() as service:
        yield service


@pytest.fixture
async def client(service: ClusterService) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service.address) as client:
        yield client


class Recorder:
    """A reconcile function that records its calls."""

    def __init__(self, controller: AsyncController) -> None:
        self.keys: list[str] = []
        self.results: dict[str, Any] = {}
        controller.reconcile(self)

    async def __call__(self, key: ObjectKey) -> Any:
        self.keys.append(str(key))
        result = self.results.get(str(key))
        if isinstance(result, list):
            result = result.pop(0) if result else None
        if isinstance(result, Exception):
            raise result
        return result

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.keys)


async def test_reconciles_each_object_and_its_changes(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    service.store("crontabs", "b", namespace="other")
    controller = AsyncController(client, CRONTABS)
    seen: list[tuple[str, Any]] = []

    @controller.reconcile
    async def reconcile(key: ObjectKey) -> None:
        found = controller.store().get(key.namespace, key.name)
        seen.append((str(key), found and found.get("spec")))

    async with AsyncRunning(controller) as run:
        await run.until(lambda: len(seen) == 2)
        assert sorted(seen) == [("demo/a", None), ("other/b", None)]
        service.store("crontabs", "a", spec="changed")
        await run.until(lambda: seen[2:] == [("demo/a", "changed")])
        service.remove("crontabs", "b", namespace="other")
        await run.until(lambda: seen[3:] == [("other/b", None)])
    await run.result()
    assert controller.store().get("other", "b") is None
    assert len(service.requests) == 1


async def test_reconciles_the_owner_of_a_changed_object(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    service.store("crontabs", "b")
    controller = AsyncController(client, CRONTABS, owns=["jobs"])
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: len(recorder.keys) == 2)
        service.store("jobs", "j1", owners=(owner("b"),))
        await run.until(lambda: recorder.counts["demo/b"] == 2)
        service.store("jobs", "j1", owners=(owner("a"),))
        await run.until(lambda: recorder.counts == {"demo/a": 2, "demo/b": 3})
        service.remove("jobs", "j1")
        await run.until(lambda: recorder.counts == {"demo/a": 3, "demo/b": 3})


async def test_other_owners_are_not_reconciled(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    controller = AsyncController(client, CRONTABS, owns=["jobs"])
    recorder = Recorder(controller)
    others = {
        "j1": owner("x", controller=False),
        "j2": owner("x", kind="Other"),
        "j3": owner("x", apiVersion="other.example.com/v1"),
        "j4": owner("x", apiVersion="v1"),
    }
    async with AsyncRunning(controller) as run:
        await run.until(lambda: recorder.keys == ["demo/a"])
        service.store("jobs", "j0")
        for name, reference in others.items():
            service.store("jobs", name, owners=(reference,))
        service.store("jobs", "last", owners=(owner("last", apiVersion="stable.example.com/v2"),))
        await run.until(lambda: len(recorder.keys) == 2)
    assert recorder.keys == ["demo/a", "demo/last"]


async def test_a_cluster_scoped_owner_has_no_namespace(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("clusters", "c", namespace="")
    controller = AsyncController(client, "clusters", owns=["jobs"])
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: recorder.keys == ["c"])
        service.store("jobs", "j1", owners=(owner("c", kind="Cluster"),))
        await run.until(lambda: recorder.keys == ["c", "c"])


async def test_finds_the_objects_of_an_owner_by_its_uid(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    service.store("jobs", "j1", owners=(owner("a"),))
    service.store("jobs", "j2", owners=(owner("a", uid="an earlier one"),))
    service.store("jobs", "j3")
    controller = AsyncController(client, CRONTABS, owns=["jobs"])
    Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: controller._stores.synced)
        crontab = controller.store().get("demo", "a")
        assert crontab is not None
        assert [each.name for each in controller.owned("jobs", crontab)] == ["j1"]
        assert len(controller.store("jobs")) == 3


async def test_reconciles_what_a_mapper_returns(
    client: AsyncClient, service: ClusterService
) -> None:
    def users(secret: Object) -> list[tuple[str | None, str]]:
        return [(secret.namespace, name) for name in secret["users"]]

    controller = AsyncController(client, CRONTABS, watches=[("secrets", users)])
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: controller._stores.synced)
        service.store("secrets", "s", users=["a", "b"])
        await run.until(lambda: recorder.counts == {"demo/a": 1, "demo/b": 1})
        service.store("secrets", "s", users=["b", "c"])
        await run.until(lambda: recorder.counts == {"demo/a": 2, "demo/b": 2, "demo/c": 1})


async def test_a_mapper_may_fail(client: AsyncClient, service: ClusterService) -> None:
    def users(secret: Object) -> list[tuple[str | None, str]]:
        return [(secret.namespace, name) for name in secret["users"]]

    controller = AsyncController(client, CRONTABS, watches=[("secrets", users)])
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        service.store("secrets", "s")
        service.store("secrets", "s", users=["a"])
        await run.until(lambda: recorder.keys == ["demo/a"])


@pytest.mark.parametrize("delay", [0.01, 0, -1, timedelta(milliseconds=10)])
async def test_reconciles_again_after_the_returned_delay(
    client: AsyncClient, service: ClusterService, delay: float | timedelta
) -> None:
    service.store("crontabs", "a")
    controller = AsyncController(client, CRONTABS)
    recorder = Recorder(controller)
    recorder.results["demo/a"] = [delay, delay]
    async with AsyncRunning(controller) as run:
        await run.until(lambda: len(recorder.keys) == 3)
    assert controller._queue.num_requeues(ObjectKey("demo", "a")) == 0


async def test_a_failed_reconcile_is_retried(
    client: AsyncClient, service: ClusterService, caplog: pytest.LogCaptureFixture
) -> None:
    service.store("crontabs", "a")
    controller = AsyncController(client, CRONTABS, base_delay=0.001)
    recorder = Recorder(controller)
    refusal = Forbidden(Code.PERMISSION_DENIED, "not allowed to create jobs")
    recorder.results["demo/a"] = [RuntimeError("oops"), refusal, "tomorrow", True]
    async with AsyncRunning(controller) as run:
        await run.until(lambda: len(recorder.keys) == 5)
        await run.until(lambda: controller._queue.num_requeues(ObjectKey("demo", "a")) == 0)
    failures = [each for each in caplog.records if "attempt" in each.message]
    assert [each.message.partition("attempt ")[2] for each in failures] == [
        "1 of demo/a failed: RuntimeError: oops",
        "2 of demo/a failed: Forbidden: not allowed to create jobs",
        *(
            f"{attempt} of demo/a failed: TypeError: the reconcile function returned {result}: "
            "return None, or a delay in seconds or as a timedelta"
            for attempt, result in ((3, "'tomorrow'"), (4, "True"))
        ),
    ]
    assert [bool(each.exc_info) for each in failures] == [True, False, True, True]


async def test_a_retry_waits_as_long_as_the_service_asks(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    controller = AsyncController(client, CRONTABS)
    recorder = Recorder(controller)
    status = Status(reason="TooManyRequests", retry_after_seconds=3600)
    recorder.results["demo/a"] = TooManyRequests(Code.RESOURCE_EXHAUSTED, "slow down", status)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: controller._queue._state.seconds_to_next is not None)
        assert 3500 < (controller._queue._state.seconds_to_next or 0) <= 3600
    assert recorder.keys == ["demo/a"]


async def test_keys_may_be_enqueued_from_outside(
    client: AsyncClient, service: ClusterService
) -> None:
    controller = AsyncController(client, CRONTABS)
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        controller.enqueue(("demo", "a"))
        controller.enqueue(("demo", "b"), delay=0.001)
        await run.until(lambda: recorder.counts == {"demo/a": 1, "demo/b": 1})


async def test_follows_a_selection(client: AsyncClient, service: ClusterService) -> None:
    controller = AsyncController(
        client,
        CRONTABS,
        namespace="demo",
        owns=[WatchSpec("jobs", namespace="demo", label_selector="app=web")],
        watches=[(WatchSpec("clusters", metadata_only=True), lambda _: ())],
        indexes={"clusters": {"zone": "metadata.labels.zone"}},
    )
    Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: controller._stores.synced)
        assert controller.store("clusters").by_index("zone", "z1") == []
    watches = [
        (each.resource, each.namespace, each.label_selector, each.metadata_only)
        for each in service.requests[0].watches
    ]
    assert watches == [
        (CRONTABS, "demo", "", False),
        ("jobs", "demo", "app=web", False),
        ("clusters", "", "", True),
    ]


async def test_a_resource_may_be_owned_and_watched(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    controller = AsyncController(
        client, CRONTABS, owns=["jobs"], watches=[("jobs", lambda job: [("demo", job["user"])])]
    )
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: recorder.keys == ["demo/a"])
        service.store("jobs", "j", owners=(owner("a"),), user="b")
        await run.until(lambda: recorder.counts == {"demo/a": 2, "demo/b": 1})
    assert len(service.requests[0].watches) == 2


async def test_follows_two_selections_of_a_resource(
    client: AsyncClient, service: ClusterService
) -> None:
    here, there = WatchSpec("jobs", namespace="demo"), WatchSpec("jobs", namespace="other")
    service.store("crontabs", "a")
    controller = AsyncController(
        client,
        CRONTABS,
        owns=[here, there],
        watches=[(there, lambda job: [("demo", job["user"])])],
        indexes={"jobs": {"user": "user"}},
    )
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: recorder.keys == ["demo/a"])
        service.store("jobs", "j1", owners=(owner("a"),), user="b")
        service.store("jobs", "j2", namespace="other", owners=(owner("a"),), user="c")
        await run.until(lambda: recorder.counts["demo/c"] == 1)
        crontab = controller.store().get("demo", "a")
        assert crontab is not None
        assert [each.name for each in controller.owned("jobs", crontab)] == ["j1", "j2"]
        assert [each.name for each in controller.owned(there, crontab)] == ["j2"]
        assert [each.name for each in controller.store(here)] == ["j1"]
        assert [each.name for each in controller.store(there).by_index("user", "c")] == ["j2"]
        with pytest.raises(KeyError, match="2 selections of jobs: pass its WatchSpec"):
            controller.store("jobs")
        with pytest.raises(KeyError, match="no selection of pods"):
            controller.store("pods")
    assert len(service.requests[0].watches) == 3
    assert "demo/b" not in recorder.counts


@pytest.mark.parametrize("alias", ["crontabs", "ct"])
async def test_follows_further_objects_of_its_own_resource(
    client: AsyncClient, service: ClusterService, alias: str
) -> None:
    """The controller may name the resource differently."""
    templates = WatchSpec(alias, namespace="templates")
    service.store("crontabs", "a")
    controller = AsyncController(
        client,
        WatchSpec("crontabs", namespace="demo"),
        watches=[(templates, lambda template: [("demo", template["user"])])],
    )
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        service.store("crontabs", "t", namespace="templates", user="a")
        await run.until(lambda: recorder.counts["demo/a"] >= 1)
        await run.until(lambda: len(controller.store(templates)) == 1)
        assert [each.name for each in controller.store()] == ["a"]
    assert recorder.counts.keys() == {"demo/a"}


async def test_refuses_a_second_function(client: AsyncClient) -> None:
    controller = AsyncController(client, CRONTABS)
    recorder = Recorder(controller)
    with pytest.raises(RuntimeError, match="has a reconcile function already"):
        controller.reconcile(recorder)
    controller.finalize("example.com/a")(lambda _: None)
    with pytest.raises(RuntimeError, match="has a finalize function already"):
        controller.finalize("example.com/b")(lambda _: None)


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Failure(Code.PERMISSION_DENIED, "not allowed to watch"), Forbidden),
        (Failure(Code.NOT_FOUND, "no such resource"), NotFound),
    ],
)
async def test_a_rejected_watch_ends_the_controller(
    client: AsyncClient, service: ClusterService, failure: Failure, error: type[Exception]
) -> None:
    service.watch_failure = failure
    controller = AsyncController(client, CRONTABS)
    Recorder(controller)
    async with AsyncRunning(controller) as run:
        with pytest.raises(error, match=failure.message):
            await run.result()
        assert controller.stopping


async def test_a_revoked_permission_ends_the_controller(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    controller = AsyncController(client, CRONTABS)
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: recorder.keys == ["demo/a"])
        service.end_watches(Failure(Code.PERMISSION_DENIED, "not allowed any more"))
        with pytest.raises(Forbidden, match="not allowed any more"):
            await run.result()


async def test_a_lost_stream_does_not_end_the_controller(
    client: AsyncClient, service: ClusterService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)
    service.store("crontabs", "a")
    controller = AsyncController(client, CRONTABS)
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: recorder.keys == ["demo/a"])
        service.end_watches(Failure(Code.UNAVAILABLE))
        service.store("crontabs", "b")
        await run.until(lambda: recorder.keys == ["demo/a", "demo/b"])


async def test_a_store_that_is_not_in_sync_ends_the_controller(
    client: AsyncClient, service: ClusterService
) -> None:
    service.silent = True
    controller = AsyncController(client, CRONTABS, sync_timeout=0.05)
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        with pytest.raises(DeadlineExceeded, match=r"crontabs\.stable\.example\.com.*not in sync"):
            await run.result()
    assert recorder.keys == []


async def test_may_be_stopped_before_its_stores_are_in_sync(
    client: AsyncClient, service: ClusterService
) -> None:
    service.silent = True
    controller = AsyncController(client, CRONTABS)
    Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: len(service.requests) == 1)
        controller.stop()
        await run.result()


async def test_the_function_may_stop_the_controller(
    client: AsyncClient, service: ClusterService
) -> None:
    for name in "abc":
        service.store("crontabs", name)
    controller = AsyncController(client, CRONTABS)
    keys = []

    @controller.reconcile
    async def reconcile(key: ObjectKey) -> float:
        controller.stop()
        keys.append(controller.stopping)
        return 0.0

    async with AsyncRunning(controller) as run:
        await run.result()
    assert keys == [True]


async def test_reconciles_only_as_the_leader(client: AsyncClient, service: ClusterService) -> None:
    service.store("crontabs", "a")
    service.put(holderIdentity="other", leaseDurationSeconds=3600)
    elector = leader_elector(client)
    controller = AsyncController(client, CRONTABS, elector=elector)
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: controller._stores.synced and elector.leader == "other")
        await run.until(lambda: len(controller._queue) == 1)
        assert recorder.keys == []
        service.put(holderIdentity="")
        await run.until(lambda: recorder.keys == ["demo/a"])
        assert elector.is_leader
        assert service.spec["holderIdentity"] == elector.identity
    assert service.spec["holderIdentity"] == ""


async def test_a_lost_leadership_ends_the_controller(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    controller = AsyncController(client, CRONTABS, elector=leader_elector(client))
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: recorder.keys == ["demo/a"])
        service.put(holderIdentity="other")
        with pytest.raises(LeadershipLost, match="its holder is other"):
            await run.result()
    assert service.spec["holderIdentity"] == "other"


async def test_reconciles_nothing_after_the_process_was_suspended(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    elector = leader_elector(client, renew_deadline=14.0, retry_period=10.0)
    elector._election.clock = clock = MovedClock()
    controller = AsyncController(client, CRONTABS, elector=elector)
    recorder = Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: recorder.keys == ["demo/a"])
        clock.advance(15.0)
        service.store("crontabs", "a", spec="changed")
        await run.until(lambda: controller._queue._state.seconds_to_next is not None)
    assert recorder.keys == ["demo/a"]


async def test_a_call_writes_nothing_after_the_process_was_suspended(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a")
    elector = leader_elector(client, renew_deadline=14.0, retry_period=10.0)
    elector._election.clock = clock = MovedClock()
    controller = AsyncController(client, CRONTABS, elector=elector)
    written: list[str] = []
    errors: list[LeadershipLost] = []

    @controller.reconcile
    async def reconcile(key: ObjectKey) -> None:
        written.append((await client.apply(CRONTAB)).object.name)
        clock.advance(15.0)
        await client.get("pods", "web")
        try:
            await client.apply(CRONTAB)
        except LeadershipLost as error:
            errors.append(error)

    service.objects = [pod("web", namespace="")]
    async with AsyncRunning(controller) as run:
        await run.until(lambda: len(errors) == 1)
        await client.apply(CRONTAB)  # the program itself may write
    assert written == ["a"]
    assert len([each for each in service.requests if isinstance(each, PatchRequest)]) == 2


async def test_may_be_stopped_before_it_is_the_leader(
    client: AsyncClient, service: ClusterService
) -> None:
    service.put(holderIdentity="other", leaseDurationSeconds=3600)
    elector = leader_elector(client)
    controller = AsyncController(client, CRONTABS, elector=elector)
    Recorder(controller)
    async with AsyncRunning(controller) as run:
        await run.until(lambda: elector.leader == "other")
        controller.stop()
        await run.result()
    assert service.spec["holderIdentity"] == "other"


def leader_elector(
    client: AsyncClient, renew_deadline: float = 5.0, retry_period: float = 0.01
) -> AsyncLeaderElector:
    return AsyncLeaderElector(
        client,
        "web",
        namespace="demo",
        renew_deadline=renew_deadline,
        retry_period=retry_period,
    )


FINALIZER = "stable.example.com/registry"


class Finalizing(Recorder):
    """A controller with a finalizer that records its calls."""

    def __init__(self, client: AsyncClient, *results: object) -> None:
        self.controller = AsyncController(client, CRONTABS, base_delay=0.001)
        super().__init__(self.controller)
        self.controller.finalize(FINALIZER)(self.finalize)
        self.finalized: list[str] = []
        self.ends = list(results)

    async def finalize(self, obj: Object) -> Any:
        self.finalized.append(f"{obj.name} {obj.resource_version}")
        result = self.ends.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def json_of(request: PatchRequest) -> Any:
    return MessageToDict(request.value) if request.HasField("value") else json.loads(request.data)


def patches(service: ClusterService) -> list[tuple[str, Any, str]]:
    found = [each for each in service.requests if isinstance(each, PatchRequest)]
    return [(each.name, json_of(each), each.preconditions.resource_version) for each in found]


async def test_adds_its_finalizer_before_it_reconciles(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a", finalizers=("example.com/other",))
    finalizing = Finalizing(client)
    async with AsyncRunning(finalizing.controller) as run:
        await run.until(lambda: len(patches(service)) == 1)
        both = ["example.com/other", FINALIZER]
        assert patches(service) == [("a", {"metadata": {"finalizers": both}}, "101")]
        assert finalizing.keys == []
        service.store("crontabs", "a", finalizers=tuple(both))
        await run.until(lambda: finalizing.keys == ["demo/a"])
    assert len(patches(service)) == 1
    assert finalizing.finalized == []


async def test_finalizes_an_object_and_removes_its_finalizer(
    client: AsyncClient, service: ClusterService
) -> None:
    service.store("crontabs", "a", finalizers=(FINALIZER, "example.com/other"), deleting=True)
    finalizing = Finalizing(client, OSError("no"), 0.001, None)
    async with AsyncRunning(finalizing.controller) as run:
        await run.until(lambda: len(patches(service)) == 1)
        others = ["example.com/other"]
        assert patches(service) == [("a", {"metadata": {"finalizers": others}}, "101")]
        assert finalizing.finalized == ["a 101"] * 3
        service.store("crontabs", "a", finalizers=tuple(others), deleting=True)
        service.store("crontabs", "b", finalizers=(FINALIZER,))
        await run.until(lambda: finalizing.keys == ["demo/b"])
        service.remove("crontabs", "a")
        await run.until(lambda: finalizing.keys == ["demo/b", "demo/a"])
    assert len(patches(service)) == 1
    assert len(finalizing.finalized) == 3


async def test_finalizes_once_while_the_store_is_behind(
    client: AsyncClient, service: ClusterService, caplog: pytest.LogCaptureFixture
) -> None:
    """The object is gone when its last finalizer is removed, before the store knows it."""
    service.store("crontabs", "a", finalizers=(FINALIZER,), deleting=True)
    finalizing = Finalizing(client, None, None)
    async with AsyncRunning(finalizing.controller) as run:
        await run.until(lambda: len(patches(service)) == 1)
        finalizing.controller.enqueue(("demo", "a"))
        finalizing.controller.enqueue(("demo", "b"))
        await run.until(lambda: finalizing.keys == ["demo/b"])
        service.remove("crontabs", "a")
        await run.until(lambda: finalizing.keys == ["demo/b", "demo/a"])
        assert finalizing.finalized == ["a 101"]
        service.store("crontabs", "a", uid="another", finalizers=(FINALIZER,), deleting=True)
        await run.until(lambda: len(finalizing.finalized) == 2)
    assert logged_messages(caplog, logging.ERROR) == []


async def test_an_object_may_be_gone_when_its_finalizer_is_removed(
    client: AsyncClient, service: ClusterService, caplog: pytest.LogCaptureFixture
) -> None:
    finalizing = Finalizing(client, None)
    async with AsyncRunning(finalizing.controller) as run:
        await run.until(lambda: finalizing.controller._stores.synced)
        service.refusals.append(Failure(Code.NOT_FOUND, "not found", Status(reason="NotFound")))
        service.store("crontabs", "a", finalizers=(FINALIZER,), deleting=True)
        await run.until(lambda: len(patches(service)) == 1)
        service.remove("crontabs", "a")
        await run.until(lambda: finalizing.keys == ["demo/a"])
    assert finalizing.finalized == ["a 101"]
    assert logged_messages(caplog, logging.ERROR) == []


async def test_needs_a_function_and_runs_once(client: AsyncClient, service: ClusterService) -> None:
    controller = AsyncController(client, CRONTABS)
    with pytest.raises(RuntimeError, match="decorate one with"):
        await controller.run()
    Recorder(controller)
    controller.stop()
    await controller.run()
    with pytest.raises(RuntimeError, match="was run already"):
        await controller.run()


async def test_refuses_arguments_without_sense(client: AsyncClient) -> None:
    with pytest.raises(ValueError, match="workers must be at least 1"):
        AsyncController(client, CRONTABS, workers=0)
    with pytest.raises(ValueError, match="no selection of pods"):
        AsyncController(client, CRONTABS, indexes={"pods": {}})
    with pytest.raises(KeyError, match="pods"):
        AsyncController(client, CRONTABS).store("pods")
