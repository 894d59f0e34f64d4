"""Tests that no call hangs: each of them ends when the client is closed, after its timeout, and
when it is interrupted, and leaves nothing behind.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator

import pytest

from kubeconnect import (
    AccessCheck,
    ApplyError,
    Cancelled,
    DeadlineExceeded,
    LeadershipLost,
    Object,
    QueueShutDown,
    TooManyRequests,
    WatchSpec,
)
from kubeconnect.aio import (
    AsyncClient,
    AsyncController,
    AsyncLeaderElector,
    AsyncLivePage,
    AsyncLog,
    AsyncLogLines,
    AsyncObjectList,
    AsyncStore,
    AsyncStores,
    AsyncTable,
    AsyncWatch,
    AsyncWatchCounts,
    AsyncWatchMany,
    AsyncWorkQueue,
)
from kubeconnect.v1 import read_pb2, table_pb2
from tests.blocking import SERVERS, AsyncBlocked, AsyncNothingLeft, blocking_calls
from tests.fake import PODS

SHORT_SECONDS = 0.05
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}


class Calls:
    """What the calls need: a client whose service never responds, and a work queue."""

    def __init__(self, client: AsyncClient, timeout: float) -> None:
        self.client = client
        self.timeout = timeout
        self.queue = AsyncWorkQueue[str]()
        self.draining = AsyncWorkQueue[str]()
        self.draining.add("taken")

    async def end(self) -> None:
        """Close all that has a method for it."""
        self.queue.shut_down()
        self.draining.shut_down()
        await self.client.close()

    @property
    def seconds(self) -> float | None:
        """The timeout of calls for which None means no limit."""
        return None if math.isinf(self.timeout) else self.timeout

    def objects(self) -> AsyncObjectList:
        """Return a list that has a second page."""
        first = read_pb2.ListResponse(resource=PODS, next_page_token="1")
        request = read_pb2.ListRequest()
        return AsyncObjectList(self.client._transport, request, first, self.seconds, Object)

    def table(self) -> AsyncTable:
        """Return a table that has a second page."""
        first = table_pb2.GetTableResponse(resource=PODS, next_page_token="1")
        return AsyncTable(self.client._transport, table_pb2.GetTableRequest(), first, self.seconds)

    def log(self) -> AsyncLog:
        return self.client.logs("web", namespace="demo", follow=True, timeout=self.seconds)

    def watch(self) -> AsyncWatch:
        return self.client.watch("pods", timeout=self.seconds)

    def watch_many(self) -> AsyncWatchMany[str]:
        return self.client.watch_many({"pods": WatchSpec("pods")}, timeout=self.seconds)

    def watch_counts(self) -> AsyncWatchCounts:
        return self.client.watch_counts("pods", timeout=self.seconds)

    def lines(self) -> AsyncLogLines:
        return self.client.log_lines(follow=True, timeout=self.seconds)

    def page(self) -> AsyncLivePage:
        return self.client.live_page("pods", timeout=self.seconds)

    def store(self) -> AsyncStore:
        store = self.client.store("pods")
        store.start()
        return store

    def stores(self) -> AsyncStores[str]:
        stores = self.client.stores({"pods": "pods", "nodes": "nodes"})
        stores.start()
        return stores

    def elector(self) -> AsyncLeaderElector:
        return AsyncLeaderElector(self.client, "web", namespace="demo", retry_period=0.1)

    def leader(self, renew_deadline: float = 1000.0) -> AsyncLeaderElector:
        """Return an elector that renews a lease that it has acquired before."""
        elector = AsyncLeaderElector(
            self.client,
            "web",
            namespace="demo",
            lease_duration=2000.0,
            renew_deadline=renew_deadline,
            retry_period=0.01,
        )
        elector._leading = True
        elector._workers.start("kubeconnect-lease-web", elector._renew)
        return elector

    def controller(self) -> AsyncController:
        controller = AsyncController(
            self.client, "pods", owns=["jobs"], sync_timeout=self.timeout, stop_timeout=math.inf
        )
        controller.reconcile(lambda key: None)
        return controller

    async def drain(self) -> None:
        """Wait for a key that is never done."""
        await self.draining.get()
        await self.draining.shut_down_with_drain(self.seconds)


Call = Callable[[Calls], Awaitable[object]]

CALLS: dict[str, Call] = {
    "Client.apply": lambda c: c.client.apply(CONFIG, timeout=c.timeout),
    "Client.apply_yaml": lambda c: c.client.apply_yaml(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}",
        namespace="demo",
        timeout=c.timeout,
    ),
    "Client.can_i": lambda c: c.client.can_i("get", "pods", timeout=c.timeout),
    "Client.check_access": lambda c: c.client.check_access(
        [AccessCheck("get", "pods")], timeout=c.timeout
    ),
    "Client.cordon": lambda c: c.client.cordon("n1", timeout=c.timeout),
    "Client.count": lambda c: c.client.count("pods", timeout=c.timeout),
    "Client.create": lambda c: c.client.create("configmaps", CONFIG, timeout=c.timeout),
    "Client.delete": lambda c: c.client.delete("pods", "web", timeout=c.timeout),
    "Client.delete_collection": lambda c: c.client.delete_collection(
        "pods", namespace="demo", timeout=c.timeout
    ),
    "Client.evict": lambda c: c.client.evict("web", namespace="demo", timeout=c.timeout),
    "Client.get": lambda c: c.client.get("pods", "web", timeout=c.timeout),
    "Client.list": lambda c: c.client.list("pods", timeout=c.timeout),
    "Client.patch": lambda c: c.client.patch("pods", "web", {}, type="merge", timeout=c.timeout),
    "Client.resource_types": lambda c: c.client.resource_types(timeout=c.timeout),
    "Client.restart": lambda c: c.client.restart(
        "deployments", "web", namespace="demo", timeout=c.timeout
    ),
    "Client.scale": lambda c: c.client.scale(
        "deployments", "web", 3, namespace="demo", timeout=c.timeout
    ),
    "Client.schema": lambda c: c.client.schema("pods", timeout=c.timeout),
    "Client.table": lambda c: c.client.table("pods", timeout=c.timeout),
    "Client.uncordon": lambda c: c.client.uncordon("n1", timeout=c.timeout),
    "Client.update": lambda c: c.client.update("configmaps", CONFIG, timeout=c.timeout),
    "Client.wait_for": lambda c: c.client.wait_for("pods", "web", "deleted", timeout=c.timeout),
    "Client.wait_for, the watch": lambda c: c.client.wait_for(
        "pods", "web", "deleted", min_resource_version="1", timeout=c.timeout
    ),
    "Client.who_am_i": lambda c: c.client.who_am_i(timeout=c.timeout),
    "Controller.run": lambda c: c.controller().run(handle_signals=False),
    "LeaderElector.acquire": lambda c: c.elector().acquire(c.seconds),
    "LeaderElector.wait_lost": lambda c: c.leader().wait_lost(c.seconds),
    "LivePage.next": lambda c: anext(c.page()),
    "Log.iter": lambda c: anext(aiter(c.log())),
    "Log.iter_bytes": lambda c: anext(aiter(c.log().iter_bytes())),
    "LogLines.next": lambda c: anext(c.lines()),
    "Log.read": lambda c: c.log().read(),
    "ObjectList.all": lambda c: c.objects().all(),
    "ObjectList.iter": lambda c: anext(aiter(c.objects())),
    "ObjectList.to_arrow": lambda c: c.objects().to_arrow(),
    "ObjectList.to_pandas": lambda c: c.objects().to_pandas(),
    "ObjectList.to_polars": lambda c: c.objects().to_polars(),
    "ObjectList.to_records": lambda c: c.objects().to_records(),
    "Store.wait_closed": lambda c: c.store().wait_closed(c.timeout),
    "Store.wait_synced": lambda c: c.store().wait_synced(c.timeout),
    "Stores.wait_closed": lambda c: c.stores().wait_closed(c.timeout),
    "Stores.wait_synced": lambda c: c.stores().wait_synced(c.timeout),
    "Table.iter": lambda c: anext(aiter(c.table())),
    "Table.to_arrow": lambda c: c.table().to_arrow(),
    "Table.to_pandas": lambda c: c.table().to_pandas(),
    "Table.to_polars": lambda c: c.table().to_polars(),
    "Table.to_records": lambda c: c.table().to_records(),
    "Watch.next": lambda c: anext(c.watch()),
    "WatchCounts.next": lambda c: anext(c.watch_counts()),
    "WatchMany.next": lambda c: anext(c.watch_many()),
    "WorkQueue.get": lambda c: c.queue.get(c.seconds),
    "WorkQueue.shut_down_with_drain": lambda c: c.drain(),
}

# These have no timeout of their own.
UNLIMITED: dict[str, Call] = {
    "LeaderElector.enter": lambda c: c.elector().__aenter__(),
    "WorkQueue.next": lambda c: anext(c.queue),
}

# These end by themselves although the service does not respond.
CLOSING: dict[str, Call] = {
    "Client.close": lambda c: c.client.close(),
    "Client.exit": lambda c: c.client.__aexit__(None, None, None),
    "LeaderElector.close": lambda c: c.leader(SHORT_SECONDS).close(),
    "LeaderElector.exit": lambda c: c.leader(SHORT_SECONDS).__aexit__(None, None, None),
    "LivePage.close": lambda c: c.page().close(),
    "LivePage.exit": lambda c: c.page().__aexit__(None, None, None),
    "LivePage.scroll": lambda c: c.page().scroll(offset=1),
    "LogLines.close": lambda c: c.lines().close(),
    "LogLines.exit": lambda c: c.lines().__aexit__(None, None, None),
    "Log.close": lambda c: c.log().close(),
    "Log.exit": lambda c: c.log().__aexit__(None, None, None),
    "Store.close": lambda c: c.store().close(),
    "Store.exit": lambda c: c.store().__aexit__(None, None, None),
    "Stores.close": lambda c: c.stores().close(),
    "Stores.exit": lambda c: c.stores().__aexit__(None, None, None),
    "Watch.close": lambda c: c.watch().close(),
    "Watch.exit": lambda c: c.watch().__aexit__(None, None, None),
    "WatchCounts.close": lambda c: c.watch_counts().close(),
    "WatchCounts.exit": lambda c: c.watch_counts().__aexit__(None, None, None),
    "WatchMany.close": lambda c: c.watch_many().close(),
    "WatchMany.exit": lambda c: c.watch_many().__aexit__(None, None, None),
}

# These wait for handlers and not for the service: see test_blocking_threads.py.
HANDLERS = {"Subscription.close", "Subscription.exit", "Subscription.join"}

# These need a WebSocket: see test_containers.py.
CONTAINERS = {
    *("Client.exec", "Client.copy_from", "Client.copy_to"),
    *(f"ContainerSession.{name}" for name in ("close_stdin", "read", "resize", "write")),
    *(f"PortStream.{name}" for name in ("read", "write")),
    *(f"{name}.iter" for name in ("ContainerSession", "PortStream")),
    *(
        f"{name}.{method}"
        for name in ("ContainerSession", "PortForward", "PortStream")
        for method in ("close", "enter", "exit")
    ),
}

# These do not wait. dump writes a file.
IMMEDIATE = {
    "Client.enter",
    "LivePage.enter",
    "Log.enter",
    "LogLines.enter",
    "Store.dump",
    "Store.enter",
    "Stores.dump",
    "Stores.enter",
    "Subscription.enter",
    "Watch.enter",
    "WatchCounts.enter",
    "WatchMany.enter",
}


@pytest.fixture(params=SERVERS)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with SERVERS[request.param]() as address:
        yield address


# With threads a signal is noticed after a tenth of a second on average, within gRPC.
each_of_two = pytest.mark.parametrize(
    "address", ["sends headers", "accepts connections"], indirect=True
)


def test_the_tables_have_all_calls() -> None:
    tables = {name.partition(",")[0] for name in {**CALLS, **UNLIMITED, **CLOSING}}
    assert tables | HANDLERS | CONTAINERS | IMMEDIATE == blocking_calls()


async def test_the_end_of_the_client_ends_all_calls(address: str) -> None:
    async with AsyncNothingLeft():
        calls = Calls(AsyncClient(address), math.inf)
        blocked = {
            name: AsyncBlocked(lambda call=call: call(calls))  # type: ignore[misc]
            for name, call in {**CALLS, **UNLIMITED}.items()
        }
        for each in blocked.values():
            await each.parked()
        await calls.end()
        errors = {name: await each.result() for name, each in blocked.items()}
    # A write and a stream that are throttled are not retried.
    ended = (
        *(ApplyError, Cancelled, LeadershipLost, QueueShutDown),
        *(StopAsyncIteration, TooManyRequests),
    )
    unexpected = {
        name: error
        for name, error in errors.items()
        if error is not None and not isinstance(error, ended)
    }
    assert unexpected == {}


async def test_all_calls_end_after_their_timeout(address: str) -> None:
    async with AsyncNothingLeft(), AsyncClient(address) as client:
        calls = Calls(client, SHORT_SECONDS)
        blocked = {
            name: AsyncBlocked(lambda call=call: call(calls))  # type: ignore[misc]
            for name, call in CALLS.items()
        }
        errors = {name: await each.result() for name, each in blocked.items()}
    ended = (ApplyError, DeadlineExceeded, TimeoutError, TooManyRequests)
    unexpected = {name: error for name, error in errors.items() if not isinstance(error, ended)}
    assert unexpected == {}


@each_of_two
@pytest.mark.parametrize("name", [*CALLS, *UNLIMITED])
async def test_an_interrupt_ends_a_call(address: str, name: str) -> None:
    async with AsyncNothingLeft():
        calls = Calls(AsyncClient(address), math.inf)
        call = {**CALLS, **UNLIMITED}[name]
        error = await AsyncBlocked.interrupted(lambda: call(calls))
        await calls.end()
    assert type(error).__name__ in ("KeyboardInterrupt", "CancelledError")


@pytest.mark.parametrize("name", CLOSING)
async def test_closing_does_not_wait_for_the_service(address: str, name: str) -> None:
    async with AsyncNothingLeft():
        calls = Calls(AsyncClient(address), math.inf)
        assert await AsyncBlocked(lambda: CLOSING[name](calls)).result() is None
        await calls.end()
