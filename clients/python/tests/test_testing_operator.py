"""Tests that run the operator of the examples against the fake service, as its author would."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kubeconnect
from kubeconnect import Client, LeaderElector
from kubeconnect.testing import FakeService
from tests.sync.waiting import eventually

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.append(str(EXAMPLES))

from websites import DEPLOYMENTS, REGISTRY, WEBSITES, Operator  # noqa: E402

DEMO = "demo"


@pytest.fixture
def fake() -> Iterator[FakeService]:
    with FakeService(heartbeat=0.1) as fake:
        fake.client().apply_yaml((EXAMPLES / "websites.yaml").read_text(), field_manager="test")
        fake.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": DEMO}})
        yield fake


def site(image: str = "web:1", replicas: int = 2) -> dict[str, Any]:
    head = {"apiVersion": "stable.example.com/v1", "kind": "Website"}
    metadata = {"name": "web", "namespace": DEMO}
    return {**head, "metadata": metadata, "spec": {"image": image, "replicas": replicas}}


@contextmanager
def running(client: Client, identity: str) -> Iterator[Operator]:
    elector = LeaderElector(client, "websites", namespace=DEMO, identity=identity, retry_period=0.1)
    operator = Operator(client, DEMO, elector)
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(operator.run)
        try:
            yield operator
        finally:
            operator.controller.stop()
        run.result(20)


def image_of(fake: FakeService) -> str | None:
    try:
        deployment = fake.get(DEPLOYMENTS, "web", namespace=DEMO)
    except kubeconnect.NotFound:
        return None
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def holder(fake: FakeService) -> str:
    return str(fake.get("leases", "websites", namespace=DEMO)["spec"]["holderIdentity"])


def set_ready(client: Client, replicas: int) -> None:
    """Report ready replicas, as the controller of Deployments does."""
    status = {"status": {"readyReplicas": replicas}}
    client.patch(
        DEPLOYMENTS, "web", status, namespace=DEMO, type="merge", subresource="status", timeout=10
    )


def test_a_site_is_deployed_reported_and_removed(fake: FakeService) -> None:
    client = fake.client()
    with running(fake.client(), "a"):
        client.create(WEBSITES, site())
        client.wait_for(WEBSITES, "web", "condition=Available=False", namespace=DEMO, timeout=20)
        set_ready(client, 2)
        client.wait_for(WEBSITES, "web", "condition=Available", namespace=DEMO, timeout=20)
        assert fake.get("configmaps", REGISTRY, namespace=DEMO)["data"] == {"web": "web:1"}

        client.delete(WEBSITES, "web", namespace=DEMO)
        client.wait_for(WEBSITES, "web", "deleted", namespace=DEMO, timeout=20)
        assert image_of(fake) is None
        assert fake.get("configmaps", REGISTRY, namespace=DEMO).get("data") is None


def test_an_operator_survives_an_outage_and_conflicts(fake: FakeService) -> None:
    with running(fake.client(), "a"):
        fake.put(site())
        eventually(lambda: image_of(fake) == "web:1")
        with fake.down():
            fake.put(site("web:2"))
        eventually(lambda: image_of(fake) == "web:2")
        fake.fail_next("patch", kubeconnect.Conflict, resource=DEPLOYMENTS, times=3)
        fake.reset()
        fake.disconnect()
        fake.put(site("web:3"))
        eventually(lambda: image_of(fake) == "web:3")
        fake.delete(DEPLOYMENTS, "web", namespace=DEMO)
        eventually(lambda: image_of(fake) == "web:3")


def test_another_replica_takes_over(fake: FakeService) -> None:
    fake.put(site())
    with running(fake.client(), "a") as first:
        eventually(lambda: image_of(fake) == "web:1")
        assert holder(fake) == "a"
        with running(fake.client(), "b"):
            first.controller.stop()
            eventually(lambda: holder(fake) == "b")
            fake.put(site("web:2"))
            eventually(lambda: image_of(fake) == "web:2")


def test_an_operator_without_permission_ends(fake: FakeService) -> None:
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(Operator(fake.client(), DEMO).run)
        fake.put(site())
        eventually(lambda: image_of(fake) == "web:1")
        fake.deny("watch", WEBSITES)
        with pytest.raises(kubeconnect.Forbidden):
            run.result(20)


def test_the_end_of_the_service_ends_the_operator() -> None:
    before = set(threading.enumerate())
    with ThreadPoolExecutor(1) as threads:
        with FakeService() as fake:
            fake.add_resource("stable.example.com/v1", "Website", "websites")
            fake.put(site())
            run = threads.submit(Operator(fake.client(), DEMO).run)
            eventually(lambda: image_of(fake) == "web:1")
        with pytest.raises(kubeconnect.Cancelled):
            run.result(20)
    eventually(lambda: set(threading.enumerate()) <= before)
