"""Tests of what the fake service adds to the real one: the objects, faults and refusals of a
test.
"""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

import kubeconnect
from kubeconnect import Client, EventType
from kubeconnect.aio import AsyncClient, AsyncController, AsyncLeaderElector
from kubeconnect.k8s.apps.v1 import Deployment
from kubeconnect.k8s.core.v1 import ConfigMap, Pod
from kubeconnect.k8s.helpers import to_datetime, to_decimals, to_dict, to_int_or_str
from kubeconnect.k8s.meta.v1 import ObjectMeta
from kubeconnect.testing import FakeService
from tests.sync.waiting import eventually

READY = {"conditions": [{"type": "Ready", "status": "True"}]}


@pytest.fixture
def fake() -> Iterator[FakeService]:
    with FakeService(heartbeat=0.1) as fake:
        yield fake


def pod(name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "demo", **fields.pop("metadata", {})}
    spec = {"containers": [{"name": "web", "image": "web:1"}], **fields.pop("spec", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **fields}


def test_begins_with_objects_and_their_namespaces() -> None:
    web = pod("web", status={"phase": "Running"})
    with FakeService(objects=[web]) as fake, Client(fake.address) as client:
        (found,) = client.list("pods", namespace="demo")
        assert (found.name, found["status"]) == ("web", {"phase": "Running"})
        assert "demo" in [each.name for each in client.list("namespaces")]


def test_objects_are_messages_too(fake: FakeService) -> None:
    settings = ConfigMap(metadata=ObjectMeta(name="web"), data={"color": "red"})
    put = fake.put(settings)
    assert (put.namespace, put["data"]) == ("default", {"color": "red"})
    found = fake.client().get(ConfigMap, "web", namespace="default")
    assert dict(found.data) == {"color": "red"}
    fake.put(found)
    assert fake.get("cm", "web").uid == put.uid


def test_sees_what_a_client_writes(fake: FakeService) -> None:
    client = fake.client()
    fake.put(pod("web"))
    client.patch(
        "pods", "web", {"metadata": {"labels": {"a": "b"}}}, namespace="demo", type="merge"
    )
    assert fake.get("pods", "web", namespace="demo").labels == {"a": "b"}
    assert [each.name for each in fake.list("pods")] == ["web"]
    assert fake.list("pods", namespace="other") == []
    client.delete("pods", "web", namespace="demo")
    with pytest.raises(kubeconnect.NotFound):
        fake.get("pods", "web", namespace="demo")


def test_sets_and_deletes_what_a_client_cannot(fake: FakeService) -> None:
    client = fake.client()
    metadata = {
        "uid": "mine",
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "deletionTimestamp": "2020-01-02T00:00:00Z",
        "finalizers": ["example.com/a"],
    }
    fake.put(pod("web", metadata=metadata))
    found = client.get("pods", "web", namespace="demo")
    assert (found.uid, found.deleting) == ("mine", True)
    fake.delete("pods", "web", namespace="demo")
    assert client.list("pods").total == 0


def test_an_object_of_an_unknown_kind_is_refused(fake: FakeService) -> None:
    crontab = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a"}}
    with pytest.raises(kubeconnect.NotFound, match=r"fake service serves no .*add_resource"):
        fake.put(crontab)
    schema = {"type": "object", "properties": {"spec": {}}}
    fake.add_resource(
        "stable.example.com/v1", "CronTab", "crontabs", short_names=["ct"], schema=schema
    )
    fake.put(crontab)
    client = fake.client()
    assert client.get("ct", "a", namespace="default").resource.plural == "crontabs"
    assert client.schema("crontabs").schema == schema


@pytest.mark.parametrize(
    ("call", "request_"),
    [
        ("filter", lambda client: client.list("pods", filter="object.spec.x > 3")),
        ("schema", lambda client: client.schema("pods")),
        ("previous", lambda client: client.logs("web", namespace="demo", previous=True).read()),
        (
            "directive",
            lambda client: client.patch(
                "pods", "web", {"$setElementOrder/x": []}, namespace="demo", type="strategic"
            ),
        ),
        (
            "binding",
            lambda client: client.get("pods", "web", namespace="demo", subresource="binding"),
        ),
    ],
)
def test_what_it_cannot_do_is_refused(call: str, request_: Any, fake: FakeService) -> None:
    fake.put(pod("web"))
    with pytest.raises(kubeconnect.KubeconnectError, match=f"the fake service .*{call}") as raised:
        request_(fake.client())
    assert isinstance(raised.value, (kubeconnect.Unimplemented, kubeconnect.NotFound))


def test_filters_are_functions(fake: FakeService) -> None:
    fake.add_filter("object.spec.priority > 3", lambda obj: obj["spec"]["priority"] > 3)
    for name, priority in (("a", 1), ("b", 5)):
        fake.put(pod(name, spec={"priority": priority}))
    fake.put(pod("c"))
    client = fake.client()
    listed = client.list("pods", filter="object.spec.priority > 3")
    assert [each.name for each in listed] == ["b"]
    assert listed.warnings == ("the filter has no value for 1 objects, which are left out",)
    with client.watch("pods", filter="object.spec.priority > 3") as events:
        added = (each.object.name for each in events if each.type is EventType.ADDED)
        assert next(added) == "b"
        fake.put(pod("a", spec={"priority": 9}))
        assert next(added) == "a"


def test_calls_fail_as_planned(fake: FakeService) -> None:
    client = fake.client()
    fake.fail_next("list", kubeconnect.TooManyRequests, resource="pods", times=2)
    client.list("configmaps")
    for _ in range(2):
        with pytest.raises(kubeconnect.TooManyRequests, match="planned by the test"):
            client.list("pods")
    client.list("pods")
    error = kubeconnect.Internal(grpc.StatusCode.INTERNAL, "no disk")
    fake.fail_next("create", error)
    with pytest.raises(kubeconnect.Internal, match="no disk"):
        client.create("configmaps", {"metadata": {"name": "a"}}, namespace="default")
    fake.fail_next("watch", kubeconnect.Forbidden)
    with pytest.raises(kubeconnect.Forbidden), client.watch("pods") as events:
        next(events)
    with pytest.raises(ValueError, match="'lists' is not one of get, list"):
        fake.fail_next("lists", kubeconnect.Internal)


def test_a_read_is_retried_after_the_delay(fake: FakeService) -> None:
    fake.fail_next("list", kubeconnect.TooManyRequests, retry_after_seconds=1)
    assert fake.client().list("pods").total == 0


def test_permissions_are_denied(fake: FakeService) -> None:
    client = fake.client()
    with client.watch("secrets") as events:
        assert next(events).type is EventType.RESET
        fake.deny("list", "secrets")
        with pytest.raises(kubeconnect.Forbidden, match='User "fake" cannot list'):
            list(events)
    with pytest.raises(kubeconnect.Forbidden):
        client.count("secrets")
    assert not client.can_i("list", "secrets")
    assert client.can_i("get", "secrets")
    fake.allow("list", "secrets")
    assert client.list("secrets").total == 0
    fake.deny("*", namespace="demo")
    with pytest.raises(kubeconnect.Forbidden):
        client.delete("pods", "web", namespace="demo")


def test_the_service_is_down(fake: FakeService) -> None:
    client = fake.client()
    with client.watch("pods") as events:
        assert [next(events).type, next(events).type] == [EventType.RESET, EventType.SYNCED]
        with fake.down():
            with pytest.raises(kubeconnect.Unavailable, match="the fake service is down"):
                client.list("pods")
            fake.put(pod("web"))
        event = next(each for each in events if each.object)
        assert event.type is EventType.ADDED


def test_the_cache_is_stale(fake: FakeService) -> None:
    client = fake.client()
    fake.put(pod("old"))
    with client.watch("pods") as events, fake.stale():
        version = fake.put(pod("new")).resource_version
        listed = client.list("pods")
        assert [each.name for each in listed] == ["old"]
        assert listed.freshness.stale
        assert client.list("pods", consistency="latest").total == 2
        with pytest.raises(kubeconnect.NotFound):
            client.get("pods", "new", namespace="demo")
        with pytest.raises(kubeconnect.DeadlineExceeded):
            client.get("pods", "new", namespace="demo", min_resource_version=version, timeout=0.5)
        eventually(lambda: bool(next(events)) and is_stale(events))
    assert client.get("pods", "new", namespace="demo").name == "new"


def is_stale(events: kubeconnect.Watch) -> bool:
    return events.freshness is not None and events.freshness.stale


def test_a_stream_that_follows_is_fresh_again(fake: FakeService) -> None:
    with fake.client().watch("pods") as events:
        with fake.stale():
            fake.put(pod("web"))
            eventually(lambda: bool(next(events)) and is_stale(events))
        event = next(each for each in events if each.object)
        assert event.type is EventType.ADDED
        eventually(lambda: bool(next(events)) and not is_stale(events))


def test_pages_expire(fake: FakeService) -> None:
    for number in range(4):
        fake.put(pod(f"web-{number}"))
    pages = iter(fake.client().list("pods", page_size=2))
    assert [next(pages).name, next(pages).name] == ["web-0", "web-1"]
    fake.reset()
    with pytest.raises(kubeconnect.Expired):
        next(pages)


def test_logs_are_followed(fake: FakeService) -> None:
    fake.put(pod("web"))
    client = fake.client()
    fake.write_log("web", "one\ntwo\n", namespace="demo")
    assert client.logs("web", namespace="demo").read() == b"one\ntwo\n"
    assert client.logs("web", namespace="demo", tail_lines=1).read() == b"two\n"
    with client.logs("web", namespace="demo", follow=True) as log:
        lines = iter(log)
        assert [next(lines), next(lines)] == ["one", "two"]
        fake.write_log("web", b"three\n", namespace="demo", end=True)
        assert list(lines) == ["three"]
    with pytest.raises(kubeconnect.NotFound):
        client.logs("nobody", namespace="demo").read()
    with pytest.raises(kubeconnect.InvalidArgument):
        client.logs("web", namespace="demo", container="other").read()


def test_a_pod_on_a_node_has_time_to_terminate(fake: FakeService) -> None:
    fake.put(pod("web", spec={"nodeName": "n1"}, status={"phase": "Running"}))
    client = fake.client()
    left = client.delete("pods", "web", namespace="demo").object
    assert left is not None
    assert left.deleting
    assert left.metadata["deletionGracePeriodSeconds"] == 30
    client.patch(
        "pods", "web", {"metadata": {"labels": {"a": "b"}}}, namespace="demo", type="merge"
    )
    client.delete("pods", "web", namespace="demo", grace_period_seconds=0)
    assert fake.list("pods") == []


def test_a_budget_protects_pods_that_are_ready(fake: FakeService) -> None:
    fake.put(pod("web", metadata={"labels": {"app": "web"}}, status=READY))
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "demo"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
    }
    fake.put(budget)
    client = fake.client()
    with pytest.raises(kubeconnect.TooManyRequests):
        client.evict("web", namespace="demo")
    fake.put({**budget, "status": {"disruptionsAllowed": 1}})
    client.evict("web", namespace="demo")
    assert fake.list("pods") == []


def test_messages_have_the_values_of_the_json(fake: FakeService) -> None:
    container = {
        "name": "web",
        "image": "web:1",
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
        "env": [{"name": "A", "value": "B"}],
    }
    since = "2026-01-02T03:04:05Z"
    volumes = [{"name": "data", "emptyDir": {"medium": "Memory"}}]
    spec = {"containers": [container], "volumes": volumes, "hostNetwork": True}
    fake.put(pod("web", spec=spec, status={"startTime": since, "phase": "Running"}))
    found = fake.client().get(Pod, "web", namespace="demo")
    (read,) = found.spec.containers
    assert {key: str(each) for key, each in to_decimals(read.resources.requests).items()} == {
        "cpu": "0.5",
        "memory": "1073741824",
    }
    assert to_int_or_str(read.livenessProbe.handler.httpGet.port) == "http"
    assert str(to_datetime(found.status.startTime)) == "2026-01-02 03:04:05+00:00"
    assert to_dict(found) == fake.get("pods", "web", namespace="demo").to_dict()


def test_a_deployment_keeps_its_unset_fields_as_a_message(fake: FakeService) -> None:
    fake.put({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}})
    found = fake.client().get(Deployment, "web", namespace="default")
    assert not found.spec.HasField("replicas")


def test_many_streams_are_served_at_a_time(fake: FakeService) -> None:
    client = fake.client()
    fake.put(pod("web"))
    watches = [client.watch("pods") for _ in range(100)]
    for events in watches:
        assert next(events).type is EventType.RESET
    assert client.list("pods").total == 1
    for events in watches:
        events.close()


def test_large_snapshots_are_sent_in_parts(fake: FakeService) -> None:
    for number in range(50):
        fake.put(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"large-{number}"},
                "data": {"text": "x" * 200_000},
            }
        )
    client = fake.client()
    assert len(list(client.list("configmaps"))) == 50
    with client.watch("configmaps") as events:
        synced = next(each for each in events if each.type is EventType.SYNCED)
        assert synced.resource_version


def test_leaves_no_threads() -> None:
    before = set(threading.enumerate())
    with FakeService() as fake, ThreadPoolExecutor(1) as threads:
        client = fake.client()
        events = client.watch("pods")
        assert next(events).type is EventType.RESET
        reading = threads.submit(list, events)
        fake.disconnect()
        client.close()
        with pytest.raises(kubeconnect.Cancelled):
            reading.result(10)
    left = [each for each in set(threading.enumerate()) - before if "fake" in each.name]
    assert left == []


def test_is_not_usable_before_its_start() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        FakeService().client()


async def test_an_asyncio_controller_runs(fake: FakeService) -> None:
    fake.add_resource("stable.example.com/v1", "Website", "websites")
    fake.put(
        {
            "apiVersion": "stable.example.com/v1",
            "kind": "Website",
            "metadata": {"name": "web", "namespace": "demo"},
            "spec": {"color": "red"},
        }
    )
    async with AsyncClient(fake.address) as client:
        elector = AsyncLeaderElector(client, "websites", namespace="demo")
        controller = AsyncController(client, "websites", elector=elector)

        @controller.reconcile
        async def reconcile(key: kubeconnect.ObjectKey) -> None:
            site = controller.store().get(*key)
            assert site is not None
            settings = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": key.name, "namespace": key.namespace},
                "data": site["spec"],
            }
            await client.apply(settings, field_manager="websites")
            controller.stop()

        await asyncio.wait_for(controller.run(), 20)
    assert fake.get("configmaps", "web", namespace="demo")["data"] == {"color": "red"}
    assert fake.get("leases", "websites", namespace="demo")["spec"]["holderIdentity"] == ""
