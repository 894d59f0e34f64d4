"""The messages of connections that cannot be established, and the tracebacks of errors."""

import pickle
import traceback

import grpc
import pytest

from kubeconnect import ApplyError, Client, Conflict, KubeconnectError
from kubeconnect._transport.failures import unreachable


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to "
            "connect to remote host: connect: Connection refused (111)",
            "kubeconnect is unreachable at http://a:1: Connection refused (111)",
        ),
        (
            "failed to connect to all addresses; last error: UNAVAILABLE: ipv6:%5B::1%5D:1: "
            "Socket closed",
            "kubeconnect is unreachable at http://a:1: Socket closed: if it uses TLS, use https://",
        ),
        ("DNS resolution failed for a:1: not found", "DNS resolution failed for a:1: not found"),
    ],
)
def test_the_message_of_a_connection_that_cannot_be_established(message: str, shown: str) -> None:
    assert unreachable(message, "http://a:1") == shown


def test_a_traceback_has_no_frames_of_grpc() -> None:
    with Client("http://127.0.0.1:1") as client:
        for read in (lambda: client.get("nodes", "a"), lambda: next(client.watch("nodes"))):
            with pytest.raises(KubeconnectError) as caught:
                read()
            text = "".join(traceback.format_exception(caught.value))
            assert "grpc/" not in text
            assert "Refused" in text or "refused" in text
            assert "kubeconnect is unreachable at http://127.0.0.1:1" in text


def test_an_error_can_be_pickled() -> None:
    error = Conflict(grpc.StatusCode.ABORTED, "it has changed", request_id="42")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (Conflict, "it has changed (request_id: 42)")
    copy = pickle.loads(pickle.dumps(ApplyError([error, error])))
    assert [str(each) for each in copy.results] == [str(error)] * 2
    assert str(copy) == (
        "2 of 2 objects were not applied: it has changed; it has changed (request_id: 42)"
    )
