import socket

import grpc
import pytest

import kubeconnect
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import watch_pb2
from tests.fake import Failure, FakeService, event

Code = grpc.StatusCode


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (Code.ABORTED, "Conflict", kubeconnect.Conflict),
        (Code.ALREADY_EXISTS, "AlreadyExists", kubeconnect.AlreadyExists),
        (Code.DEADLINE_EXCEEDED, "Timeout", kubeconnect.DeadlineExceeded),
        (Code.INTERNAL, "InternalError", kubeconnect.Internal),
        (Code.INVALID_ARGUMENT, "BadRequest", kubeconnect.InvalidArgument),
        (Code.INVALID_ARGUMENT, "Invalid", kubeconnect.Invalid),
        (Code.NOT_FOUND, "NotFound", kubeconnect.NotFound),
        (Code.OUT_OF_RANGE, "Expired", kubeconnect.Expired),
        (Code.PERMISSION_DENIED, "Forbidden", kubeconnect.Forbidden),
        (Code.RESOURCE_EXHAUSTED, "", kubeconnect.ResourceExhausted),
        (Code.RESOURCE_EXHAUSTED, "TooManyRequests", kubeconnect.TooManyRequests),
        (Code.UNAUTHENTICATED, "Unauthorized", kubeconnect.Unauthenticated),
        (Code.UNAVAILABLE, "ServiceUnavailable", kubeconnect.Unavailable),
        (Code.UNIMPLEMENTED, "MethodNotAllowed", kubeconnect.Unimplemented),
        (Code.UNKNOWN, "", kubeconnect.KubeconnectError),
    ],
)
async def test_each_reason_has_its_exception(
    client: AsyncClient,
    service: FakeService,
    code: Code,
    reason: str,
    kind: type[kubeconnect.KubeconnectError],
) -> None:
    service.failure = Failure(code, "no", kubeconnect.Status(reason=reason, retry_after_seconds=3))
    with pytest.raises(kubeconnect.KubeconnectError, match=r"^no$") as caught:
        await client.list("pods", timeout=2)  # shorter than the retry delay
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.message, caught.value.reason) == (
        code,
        "no",
        reason or None,
    )
    assert caught.value.retry_after_seconds == 3


async def test_a_long_error_keeps_its_reason_and_its_causes(
    client: AsyncClient, service: FakeService
) -> None:
    message = "the object was: " + "x" * 60_000
    causes = [kubeconnect.StatusCause(field=f"data[{n}]", message="no") for n in range(300)]
    status = kubeconnect.Status(reason="Invalid", message=message, causes=causes)
    service.failure = Failure(Code.INVALID_ARGUMENT, message, status)
    with pytest.raises(kubeconnect.Invalid) as caught:
        await client.list("pods")
    error = caught.value
    assert (error.reason, error.message, error.causes) == ("Invalid", message, tuple(causes))
    assert (error.omitted_cause_count, str(error)) == (0, message)


async def test_an_error_is_shown_in_one_line(client: AsyncClient, service: FakeService) -> None:
    causes = [kubeconnect.StatusCause(field="spec.replicas", message="negative")]
    status = kubeconnect.Status(reason="Invalid", message="bad", causes=causes)
    service.failure = Failure(Code.INVALID_ARGUMENT, "bad", status)
    with pytest.raises(kubeconnect.Invalid) as caught:
        await client.list("pods")
    assert repr(caught.value) == "<Invalid INVALID_ARGUMENT: bad>"


@pytest.mark.parametrize(("omitted", "suffix"), [(1, "1 more cause"), (270, "270 more causes")])
async def test_error_reports_the_number_of_omitted_causes(
    client: AsyncClient, service: FakeService, omitted: int, suffix: str
) -> None:
    causes = [kubeconnect.StatusCause(field="data[0]", message="no")]
    status = kubeconnect.Status(reason="Invalid", causes=causes, omitted_cause_count=omitted)
    service.failure = Failure(Code.INVALID_ARGUMENT, "many are bad", status)
    with pytest.raises(kubeconnect.Invalid) as caught:
        await client.list("pods")
    error = caught.value
    assert (len(error.causes), error.omitted_cause_count) == (1, omitted)
    assert str(error) == f"many are bad (and {suffix})"


@pytest.mark.parametrize(("header", "trailer"), [("42", ""), ("", "42")], ids=["header", "trailer"])
async def test_error_has_the_request_id_of_the_response(
    client: AsyncClient, service: FakeService, header: str, trailer: str
) -> None:
    service.request_id = header
    failure = Failure(Code.NOT_FOUND, "no", request_id=trailer)
    service.refusals.append(failure)
    with pytest.raises(kubeconnect.NotFound) as of_call:
        await client.list("pods")
    service.play([event(watch_pb2.EVENT_TYPE_RESET, None, "")], failure)
    with pytest.raises(kubeconnect.NotFound) as of_stream:
        [each async for each in client.watch("pods")]
    for error in (of_call.value, of_stream.value):
        assert (error.request_id, error.message) == ("42", "no")
        assert str(error) == "no (request_id: 42)"


@pytest.mark.parametrize(
    "details", [None, b"\xff"], ids=["without details", "with invalid details"]
)
async def test_error_can_have_no_status(
    client: AsyncClient, service: FakeService, details: bytes | None
) -> None:
    service.failure = Failure(Code.INVALID_ARGUMENT, "no", details=details)
    with pytest.raises(kubeconnect.InvalidArgument) as caught:
        await client.list("pods")
    error = caught.value
    assert (error.status, error.reason, error.causes, error.retry_after_seconds) == (
        None,
        None,
        (),
        None,
    )
    assert error.request_id is None


async def test_unreachable_service_is_unavailable() -> None:
    with socket.socket() as not_listening:
        not_listening.bind(("127.0.0.1", 0))
        port = not_listening.getsockname()[1]
        async with AsyncClient(f"127.0.0.1:{port}") as client:
            with pytest.raises(kubeconnect.Unavailable) as caught:
                await client.get("pods", "web")
    assert caught.value.request_id is None
