import math

import grpc
import pytest

from kubeconnect import Forbidden, InvalidArgument, Object, Status, WaitTimeout
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import consistency_pb2, object_pb2, watch_pb2
from tests.fake import Failure, FakeService, event, of_watch, pod

Code = grpc.StatusCode
RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")


TIMEOUT = Failure(Code.DEADLINE_EXCEEDED)


@pytest.fixture
def _the_service_ends_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the end of a stream by its deadline be the timeout, however early it is."""
    monkeypatch.setattr("kubeconnect.aio._event_stream.TOLERANCE_SECONDS", math.inf)


def web(ready: str | None, uid: str = "u1") -> object_pb2.Object:
    """Return a pod with the condition Ready."""
    conditions = [{"type": "Ready", "status": ready, "reason": "Because"}] if ready else []
    message = pod("web", status={"phase": "Running", "conditions": conditions})
    message.uid = uid
    return message


def added(message: object_pb2.Object) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_ADDED, message, "7")


def modified(message: object_pb2.Object) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_MODIFIED, message, "8")


def deleted(message: object_pb2.Object) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_DELETED, message, "9")


async def test_waits_for_a_condition(client: AsyncClient, service: FakeService) -> None:
    service.play(
        of_watch(0, "t1", RESET, added(web(None)), SYNCED),
        of_watch(0, "t2", modified(web("False"))),
        of_watch(0, "t3", modified(web("True"))),
    )
    ready = await client.wait_for("pods", "web", "condition=Ready", namespace="demo")
    assert ready["status"]["conditions"][0]["status"] == "True"
    assert service.watch_ended.wait(10)


async def test_needs_one_watch_from_the_current_version(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [web("True")]
    service.play(of_watch(0, "t1", RESET, added(web("True"))))
    await client.wait_for("pods", "web", "condition=ready=true", namespace="demo")
    read, watch = service.requests
    assert (read.name, read.metadata_only) == ("web", True)
    assert read.consistency == consistency_pb2.CONSISTENCY_LATEST
    (spec,) = watch.watches
    assert (spec.resource, spec.namespace, spec.name) == ("pods", "demo", "web")
    assert spec.min_resource_version == "7"


async def test_a_version_makes_the_first_read_unnecessary(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(of_watch(0, "t1", RESET, added(web("True"))))
    await client.wait_for("pods", "web", "condition=Ready", min_resource_version="6")
    (watch,) = service.requests
    assert watch.watches[0].min_resource_version == "6"


async def test_waits_for_what_a_function_says(client: AsyncClient, service: FakeService) -> None:
    service.play(
        of_watch(0, "t1", RESET, added(web("False")), SYNCED, modified(web("True", uid="u2")))
    )
    found = await client.wait_for("pods", "web", lambda found: found.uid == "u2")
    assert found.uid == "u2"


async def test_an_error_of_the_function_is_raised(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(of_watch(0, "t1", RESET, added(web("False"))))
    with pytest.raises(KeyError, match="nothing"):
        await client.wait_for("pods", "web", lambda found: found["nothing"])
    assert service.watch_ended.wait(10)


async def test_waits_for_an_expression_that_the_service_evaluates(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        of_watch(0, "t1", RESET, added(web("False")), SYNCED),
        of_watch(1, "t2", RESET, SYNCED),
        of_watch(1, "t3", deleted(web("False")), added(web("True"))),
    )
    expression = "object.status.phase == 'Running'"
    found = await client.wait_for("pods", "web", expression, namespace="demo")
    assert found["status"]["conditions"][0]["status"] == "True"
    watch = service.requests[-1]
    assert [spec.filter for spec in watch.watches] == ["", expression]


@pytest.mark.parametrize(
    ("events", "last"),
    [
        pytest.param([SYNCED], None, id="it did not exist"),
        pytest.param([added(web("True")), SYNCED, deleted(web("False"))], "False", id="deleted"),
        pytest.param(
            [added(web("True")), SYNCED, modified(web("False", uid="u2"))], "False", id="replaced"
        ),
    ],
)
async def test_waits_for_a_deletion(
    client: AsyncClient, service: FakeService, events: list[watch_pb2.Event], last: str | None
) -> None:
    service.play(of_watch(0, "t1", RESET, *events))
    found = await client.wait_for("pods", "web", "deleted", namespace="demo")
    assert (found and found["status"]["conditions"][0]["status"]) == last
    assert service.requests[-1].watches[0].metadata_only


async def test_the_object_may_be_created_later(client: AsyncClient, service: FakeService) -> None:
    service.play(of_watch(0, "t1", RESET, SYNCED), of_watch(0, "t2", added(web("True"))))
    assert (await client.wait_for("pods", "web", "condition=Ready")).name == "web"


@pytest.mark.usefixtures("_the_service_ends_waits")
@pytest.mark.parametrize(
    ("condition", "events", "state"),
    [
        pytest.param(
            "condition=Ready", [added(web("False"))], "Ready is False (Because)", id="condition"
        ),
        pytest.param(
            "condition=Started",
            [added(web("True"))],
            "it has no condition Started; its phase is Running, Ready is True (Because)",
            id="another condition",
        ),
        pytest.param("condition=Ready", [], "it does not exist", id="never seen"),
        pytest.param(
            "condition=Ready",
            [added(web("False")), deleted(web("False"))],
            "it was deleted",
            id="seen and deleted",
        ),
        pytest.param("deleted", [added(web("True"))], "it exists", id="not deleted"),
        pytest.param(
            "object.spec.x", [added(web(None))], "its phase is Running", id="an expression"
        ),
    ],
)
async def test_a_timeout_has_the_last_state(
    client: AsyncClient,
    service: FakeService,
    condition: str,
    events: list[watch_pb2.Event],
    state: str,
) -> None:
    synced = [] if condition == "deleted" else [SYNCED]
    service.play(of_watch(0, "t1", RESET, *events, *synced), TIMEOUT)
    with pytest.raises(WaitTimeout) as caught:
        await client.wait_for("pods", "web", condition, namespace="demo", timeout=60)
    assert str(caught.value) == (
        f"{condition} of pods demo/web: not met within 60 seconds; last state: {state}"
    )
    assert (caught.value.object is None) == (not events)


@pytest.mark.usefixtures("_the_service_ends_waits")
async def test_a_function_has_a_timeout_too(client: AsyncClient, service: FakeService) -> None:
    service.play(of_watch(0, "t1", RESET, added(pod("web")), SYNCED), TIMEOUT)

    def never(_: Object) -> bool:
        return False

    with pytest.raises(WaitTimeout, match=r"the condition of pods web: .* it is at version 7"):
        await client.wait_for("pods", "web", never, timeout=60)


async def test_a_read_that_takes_too_long_is_a_timeout(
    client: AsyncClient, service: FakeService
) -> None:
    service.stuck = True
    with pytest.raises(WaitTimeout, match="it does not exist"):
        await client.wait_for("pods", "web", "condition=Ready", timeout=0.1)


async def test_errors_of_the_service_are_raised(client: AsyncClient, service: FakeService) -> None:
    refused = Failure(Code.PERMISSION_DENIED, "not you", Status(reason="Forbidden"))
    service.refusals.append(refused)
    with pytest.raises(Forbidden, match="not you"):
        await client.wait_for("pods", "web", "deleted")
    service.play(Failure(Code.INVALID_ARGUMENT, "invalid filter"))
    with pytest.raises(InvalidArgument, match="invalid filter"):
        await client.wait_for("pods", "web", "object.(", min_resource_version="7")


async def test_waits_for_the_deletion_of_the_object_that_it_has_seen(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        of_watch(0, "t1", RESET, added(web("True", uid="u2")), SYNCED),
        of_watch(0, "t2", deleted(web("True", uid="u1"))),
        of_watch(0, "t3", modified(web("False", uid="u2"))),
        of_watch(0, "t4", deleted(web("False", uid="u2"))),
    )
    last = await client.wait_for("pods", "web", "deleted", namespace="demo")
    assert last is not None
    assert last["status"]["conditions"][0]["status"] == "False"
