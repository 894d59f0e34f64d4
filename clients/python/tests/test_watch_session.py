"""What a watch decides, without a connection and without a clock."""

from __future__ import annotations

import grpc
import pytest

from kubeconnect.errors import KubeconnectError, Unavailable
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.v1.status_pb2 import Status
from kubeconnect.watch_session import QUIET_SECONDS, WatchSession
from tests.fake import batch, event, pod

Code = grpc.StatusCode
RESET = event(pb.EVENT_TYPE_RESET, None, "")
ADDED = event(pb.EVENT_TYPE_ADDED, pod("a"), "7")
SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")
UNKNOWN = event(99, None, "")  # type: ignore[arg-type]
LOST = Unavailable(Code.UNAVAILABLE, "lost")


def session(
    *received: pb.WatchResponse, token: str = "", chance: float = 0.0, reconnect: bool = True
) -> WatchSession:
    """Return a session that has taken all that it received."""
    request = pb.WatchRequest(resource="pods", resume_token=token, min_resource_version="5")
    session = WatchSession(request, reconnect=reconnect, chance=lambda: chance)
    for response in received:
        session.receive(response)
        while session.take():
            pass
    return session


@pytest.mark.parametrize(
    ("received", "token", "version"),
    [
        pytest.param([], "t4", "5", id="the caller's token before anything came"),
        pytest.param([batch("t9", RESET, SYNCED)], "t9", "", id="the last token"),
        pytest.param([batch("t9", SYNCED), batch("t10", UNKNOWN)], "t10", "", id="of no event"),
        pytest.param([batch("t9", SYNCED), batch("", RESET)], "", "5", id="none in a snapshot"),
    ],
)
def test_asks_on_from(received: list[pb.WatchResponse], token: str, version: str) -> None:
    request = session(*received, token="t4").request
    assert request == pb.WatchRequest(
        resource="pods", resume_token=token, min_resource_version=version
    )


def test_the_token_is_that_of_what_was_taken() -> None:
    watch = session(batch("t9", SYNCED))
    watch.receive(batch("t10", ADDED, ADDED))
    assert watch.resume_token == "t9"
    watch.take()
    assert watch.resume_token == "t9"
    watch.take()
    assert watch.resume_token == "t10"


def test_the_token_is_of_no_use_once_reset_was_taken() -> None:
    watch = session(batch("t9", SYNCED))
    watch.receive(batch("t10", RESET, SYNCED))
    assert watch.resume_token == "t9"
    watch.take()
    assert watch.resume_token == ""
    watch.take()
    assert watch.resume_token == "t10"


def test_waits_longer_after_each_failure_up_to_a_limit() -> None:
    watch = session(batch("", RESET))
    assert [watch.delay_after(LOST) for _ in range(7)] == [0.1, 0.2, 0.4, 0.8, 1.6, 2.5, 2.5]


def test_half_of_each_wait_is_chance() -> None:
    watch = session(batch("", RESET), chance=0.5)
    assert watch.delay_after(LOST) == pytest.approx(0.15)


def test_can_wait_for_ever() -> None:
    watch = session(batch("", RESET))
    delays = [watch.delay_after(LOST) for _ in range(5000)]
    assert delays[-1] == 2.5


def test_begins_with_short_waits_again_when_it_has_got_on() -> None:
    watch = session(batch("t9", SYNCED))
    watch.delay_after(LOST)
    watch.receive(batch("", RESET))
    assert watch.delay_after(LOST) == 0.2
    watch.receive(batch("t10", SYNCED))
    assert watch.delay_after(LOST) == 0.1


def test_waits_as_long_as_the_service_asks() -> None:
    busy = KubeconnectError(Code.RESOURCE_EXHAUSTED, "busy", Status(retry_after_seconds=7))
    assert session(batch("t9", SYNCED)).delay_after(busy) == 7


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (Code.UNAVAILABLE, None),
        (Code.UNAVAILABLE, Status(reason="ServiceUnavailable")),
        (Code.DEADLINE_EXCEEDED, None),
        (Code.INTERNAL, None),
        (Code.UNKNOWN, None),
    ],
)
def test_calls_again_after(code: Code, status: Status | None) -> None:
    error = KubeconnectError(code, "lost", status)
    assert session(batch("t9", SYNCED)).delay_after(error) is not None


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (Code.INVALID_ARGUMENT, None),
        (Code.NOT_FOUND, None),
        (Code.PERMISSION_DENIED, None),
        (Code.UNAUTHENTICATED, None),
        (Code.UNIMPLEMENTED, None),
        (Code.CANCELLED, None),
        (Code.RESOURCE_EXHAUSTED, None),
        (Code.INTERNAL, Status(reason="InternalError")),
    ],
)
def test_gives_up_after(code: Code, status: Status | None) -> None:
    error = KubeconnectError(code, "no", status)
    assert session(batch("t9", SYNCED)).delay_after(error) is None


def test_gives_up_where_nothing_has_ever_come() -> None:
    assert session(token="t4").delay_after(LOST) is None


def test_gives_up_where_it_must_not_reconnect() -> None:
    assert session(batch("t9", SYNCED), reconnect=False).delay_after(LOST) is None


def test_the_first_message_may_take_its_time_and_no_other() -> None:
    assert session().quiet_seconds is None
    assert session(batch("", RESET)).quiet_seconds == QUIET_SECONDS
