"""The errors of usual mistakes: each names what is wrong, and what to write instead."""

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubeconnect import Client, Controller, LeaderElector, Object, Resource, WorkQueue
from kubeconnect.aio import AsyncClient
from kubeconnect.k8s.core.v1 import Pod
from tests.fake import PODS, pod


@pytest.fixture
def client() -> Iterator[Any]:
    """Return a client without a service, whose calls may have arguments of any type."""
    with Client("http://127.0.0.1:1") as client:
        yield client


def test_a_field_is_not_an_attribute() -> None:
    web: Any = Object(pod("web"), Resource.from_message(PODS))
    with pytest.raises(
        AttributeError, match=r'no attribute \'spec\': .* read a field with \["spec'
    ):
        web.spec  # noqa: B018
    with pytest.raises(AttributeError, match=r'\["apiVersion"\]$'):
        web.api_version  # noqa: B018
    assert not hasattr(web, "status")
    assert copy.deepcopy(web) == web


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda client: client.list("pods", label_selector={"app": "web"}),
            r'label_selector has the wrong type dict: it must be a str, such as "app=web',
        ),
        (lambda client: client.get("pods", 3), "name has the wrong type int: it must be a str"),
        (
            lambda client: client.count("pods", filter=bool),
            "filter has the wrong type type: .* CEL",
        ),
        (lambda client: client.watch("pods", namespace=["a"]), "namespace has the wrong type list"),
        (lambda client: client.delete("pods", "web", namespace=1), "namespace has the wrong type"),
        (lambda client: Client(None), "the address must be a str, not NoneType"),  # type: ignore[arg-type]
        (lambda client: client.list(dict), r'dict is not a kind .* a name such as "pods"'),
        (lambda client: client.create({"kind": "Pod"}), "the resource is missing: pass it before"),
        (lambda client: client.create(Pod, {}), r"pass a message, Pod\(...\), and not its class"),
        (lambda client: client.apply("kind: Pod"), "use apply_yaml for a text"),
        (lambda client: client.stores(["pods"]), "watches must be a mapping with a key for each"),
        (lambda client: client.watch_many(["pods"]), "watches must be a mapping"),
        (lambda client: client.watch_many({"p": "pods"}), "is a WatchSpec, not 'pods'"),
    ],
)
def test_a_wrong_type(client: Any, call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(client)


def test_each_object_of_the_client_is_shown_with_its_name(client: Client) -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    elector = LeaderElector(client, "report", namespace="demo")
    assert repr(queue) == "<WorkQueue: 1 waiting>"
    assert repr(elector) == "<LeaderElector demo/report: not the leader>"
    assert repr(Controller(client, "pods")) == "<Controller pods>"
    handlers = client.store("pods").subscribe(on_add=print)
    assert repr(handlers) == "<Subscription of pods: 0 errors>"
    handlers.close()
    assert repr(handlers) == "<Subscription of pods: closed>"


@pytest.mark.parametrize("condition", ["Ready", "available", "delete"])
def test_the_name_of_a_condition_is_no_expression(client: Client, condition: str) -> None:
    with pytest.raises(ValueError, match=f'is not a condition: use "condition={condition}", "del'):
        client.wait_for("pods", "web", condition)


def test_apply_yaml_takes_no_path(client: Client) -> None:
    with pytest.raises(ValueError, match="pass the content of a file, not its path"):
        client.apply_yaml("app.yaml")


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_client_is_not_copied(client: Client, copied: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match="a Client cannot be pickled or copied: create one in each"):
        copied(client)


async def test_an_async_client_is_not_copied() -> None:
    async with AsyncClient("http://127.0.0.1:1") as client:
        with pytest.raises(TypeError, match="AsyncClient cannot be pickled or copied"):
            copy.copy(client)


def test_an_async_client_needs_an_event_loop() -> None:
    with pytest.raises(RuntimeError, match="no running event loop: create the client in an async"):
        AsyncClient("http://127.0.0.1:1")
