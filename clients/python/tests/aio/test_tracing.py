import sys
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from kubeconnect import NotFound, Object, ObjectKey, WatchSpec
from kubeconnect.aio import AsyncClient, AsyncController
from kubeconnect.v1 import log_lines_pb2, watch_pb2
from tests import live
from tests.aio.waiting import eventually
from tests.fake import Failure, FakeService, Message, Silence, batch, event, of_watch, pod
from tests.traces import TRACER, InvalidState, baggage_of, parent, parents, remote_span

RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
ADDED = event(watch_pb2.EVENT_TYPE_ADDED, pod("a"), "7")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
LOST = Failure(grpc.StatusCode.UNAVAILABLE, "the service stops")
END = Failure(grpc.StatusCode.NOT_FOUND)
DAMAGED = Failure(grpc.StatusCode.INVALID_ARGUMENT, "the token is damaged")
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"}}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)


async def test_calls_are_in_the_trace_of_their_caller(
    client: AsyncClient, service: FakeService
) -> None:
    with TRACER.start_as_current_span("read") as read:
        await client.list("pods")
    with TRACER.start_as_current_span("write") as write:
        await client.create("namespaces", NAMESPACE)
    with TRACER.start_as_current_span("log") as log:
        lines = client.logs("web", namespace="demo")
    assert [each async for each in lines] == []
    assert parents(service) == [parent(read), parent(write), parent(log)]


STREAMS = [
    pytest.param(lambda client: client.watch("pods"), batch("t1", RESET, SYNCED), id="watch"),
    pytest.param(
        lambda client: client.watch_many({"pods": WatchSpec("pods")}),
        of_watch(0, "t1", RESET, SYNCED),
        id="watch many",
    ),
    pytest.param(
        lambda client: client.watch_counts("pods"),
        live.counts("5", live.group("Running", 3), reset=True),
        id="watch counts",
    ),
    pytest.param(
        lambda client: client.live_page("pods"),
        live.page("t1", RESET, SYNCED, state=live.state(0)),
        id="live page",
    ),
    pytest.param(
        lambda client: client.log_lines(follow=True),
        log_lines_pb2.GetLogLinesResponse(lines=[live.line("web", "a")]),
        id="log lines",
    ),
]


@pytest.mark.parametrize(("open_stream", "message"), STREAMS)
async def test_resumed_streams_are_in_the_trace_that_began_them(
    client: AsyncClient,
    service: FakeService,
    open_stream: Callable[[AsyncClient], Any],
    message: Message,
) -> None:
    service.play(message, LOST, LOST, END)
    with TRACER.start_as_current_span("begin") as begin:
        stream = open_stream(client)
    with TRACER.start_as_current_span("iterate"), pytest.raises(NotFound):
        async for _ in stream:
            pass
    assert parents(service) == [parent(begin)] * 3


@pytest.mark.parametrize(("open_stream", "message"), STREAMS)
async def test_streams_that_begin_outside_of_a_span_are_in_no_trace(
    client: AsyncClient,
    service: FakeService,
    open_stream: Callable[[AsyncClient], Any],
    message: Message,
) -> None:
    service.play(message, LOST, END)
    stream = open_stream(client)
    with TRACER.start_as_current_span("iterate"), pytest.raises(NotFound):
        async for _ in stream:
            pass
    assert parents(service) == [None] * 2


async def test_stores_are_in_the_trace_that_started_them(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(batch("t1", RESET, SYNCED), LOST, batch("t2", ADDED), Silence())
    store = client.store("pods")
    with TRACER.start_as_current_span("start") as start:
        store.start()
    await eventually(lambda: len(store) == 1)
    await store.close()
    assert parents(service) == [parent(start)] * 2


async def test_stores_that_begin_again_are_in_the_trace_that_started_them(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(batch("t1", RESET, ADDED, SYNCED), Silence())
    async with client.store("pods") as store:
        await store.wait_synced()
        dump = store.dumps()
    service.metadata.clear()
    service.play(DAMAGED, batch("t1", RESET, SYNCED), Silence())
    store = client.store("pods", restore=dump)
    with TRACER.start_as_current_span("start") as start:
        store.start()
    await eventually(lambda: len(store) == 0)
    await store.close()
    assert [request.resume_token for request in service.requests] == ["", "t1", ""]
    assert parents(service) == [parent(start)] * 2


async def test_handlers_are_in_the_trace_that_subscribed_them(
    client: AsyncClient, service: FakeService
) -> None:
    async def handle(_: Object) -> None:
        await client.list("pods")
        with TRACER.start_as_current_span("handle") as span:
            own.append(parent(span))
            await client.list("pods")

    own: list[str] = []
    service.play(batch("t1", RESET, ADDED, SYNCED), Silence())
    async with client.store("pods") as store:
        with TRACER.start_as_current_span("subscribe") as subscribe:
            store.subscribe(on_add=handle)
        await eventually(lambda: len(service.metadata) == 3)
    assert parents(service) == [None, parent(subscribe), *own]


async def test_controllers_are_in_the_trace_that_runs_them(
    client: AsyncClient, service: FakeService
) -> None:
    controller = AsyncController(client, "pods")
    own: list[str] = []

    @controller.reconcile
    async def reconcile(key: ObjectKey) -> None:
        await client.list("pods")
        with TRACER.start_as_current_span("reconcile") as span:
            own.append(parent(span))
            await client.list("pods")
        controller.stop()

    service.play(of_watch(0, "t1", RESET, ADDED, SYNCED), Silence())
    with TRACER.start_as_current_span("run") as run:
        await controller.run(handle_signals=False)
    assert parents(service) == [parent(run), parent(run), *own]


async def test_calls_outside_of_a_span_send_no_headers(
    client: AsyncClient, service: FakeService
) -> None:
    await client.list("pods")
    assert trace_headers(service) == [{}]


async def test_sends_the_trace_state_and_the_sampling(
    client: AsyncClient, service: FakeService
) -> None:
    state = InvalidState("vendor=a,other=b")
    service.play([RESET], END)
    for flags in (0, 1):
        with remote_span(state, flags):
            await client.list("pods")
    with remote_span(state), pytest.raises(NotFound):
        async for _ in client.watch("pods"):
            pass
    trace = f"00-{1:032x}-{2:016x}"
    assert trace_headers(service) == [
        {"traceparent": f"{trace}-{flags}", "tracestate": "vendor=a,other=b"}
        for flags in ("00", "01", "00")
    ]


async def test_sends_no_baggage(client: AsyncClient, service: FakeService) -> None:
    with TRACER.start_as_current_span("read") as span, baggage_of("user", "ann"):
        await client.list("pods")
    assert trace_headers(service) == [{"traceparent": parent(span)}]


async def test_a_call_with_other_credentials_is_in_the_same_trace(service: FakeService) -> None:
    service.tokens = {"new"}
    service.play([RESET], END)
    tokens = ["old", "new", "old", "new"]
    async with AsyncClient(service.address, token=lambda: tokens.pop(0)) as client:
        with TRACER.start_as_current_span("read") as span:
            await client.list("pods")
            with pytest.raises(NotFound):
                async for _ in client.watch("pods"):
                    pass
    assert parents(service) == [parent(span)] * 4
    assert [each["authorization"] for each in service.metadata] == ["Bearer old", "Bearer new"] * 2


async def test_retries_are_in_the_same_trace(client: AsyncClient, service: FakeService) -> None:
    await client.list("pods")
    service.metadata.clear()
    service.refusals.append(LOST)
    with TRACER.start_as_current_span("read") as span:
        await client.list("pods")
    assert parents(service) == [parent(span)] * 2


@pytest.mark.parametrize(
    ("header", "sent"),
    [
        pytest.param(None, set(), id="an error"),
        pytest.param("vendor=ä", {"traceparent"}, id="not ASCII"),
        pytest.param("vendor=a\nb", {"traceparent"}, id="a line break"),
        pytest.param("", {"traceparent"}, id="empty"),
    ],
)
async def test_a_trace_that_cannot_be_sent_fails_no_call(
    client: AsyncClient, service: FakeService, header: str | None, sent: set[str]
) -> None:
    service.play([RESET], END)
    with remote_span(InvalidState(header)):
        await client.list("pods")
        with pytest.raises(NotFound):
            async for _ in client.watch("pods"):
                pass
    assert [set(each) for each in trace_headers(service)] == [sent] * 2


async def test_an_incomplete_installation_fails_no_call(
    client: AsyncClient, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace.propagation.tracecontext", None)
    with TRACER.start_as_current_span("read"):
        await client.list("pods")
    assert trace_headers(service) == [{}]


def trace_headers(service: FakeService) -> list[dict[str, str | bytes]]:
    """Return the headers of OpenTelemetry of each call that the service has received."""
    names = ("traceparent", "tracestate", "baggage")
    return [{name: each[name] for name in names if name in each} for each in service.metadata]
