"""Tests of connections into containers: their faults, and that none of them hangs."""

from __future__ import annotations

import io
import json
import logging
import socket
import ssl
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from kubeconnect import (
    Cancelled,
    CopyError,
    DeadlineExceeded,
    Internal,
    KubeconnectError,
    LogStream,
    NotFound,
    OutputChunk,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from kubeconnect._concurrency.aio import run_blocking
from kubeconnect.aio import AsyncClient
from tests.blocking import AsyncBlocked, AsyncNothingLeft
from tests.container_server import SUCCESS, ContainerServer, container_server

COMMAND = ["ls"]


@pytest.fixture
def server() -> Iterator[ContainerServer]:
    with container_server() as server:
        yield server


async def test_sends_the_request(server: ContainerServer) -> None:
    async with AsyncClient(server.address, token="secret") as client:
        await client.exec("web", ["sh", "-c", "a b&c"], namespace="demo", container="main")
    [request] = server.requests
    path, _, query = request.path.partition("?")
    assert path == "/api/v1/namespaces/demo/pods/web/exec"
    assert query == "command=sh&command=-c&command=a+b%26c&stdout=true&stderr=true&container=main"
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.headers["User-Agent"].startswith("kubeconnect-python/")
    assert "Origin" not in request.headers


async def test_does_not_log_the_token(
    server: ContainerServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with AsyncClient(server.address, token="secret") as client:
        await client.exec("web", COMMAND, namespace="demo")
    records = [each for each in caplog.records if each.name != "websockets.server"]
    assert not [each for each in records if "secret" in each.getMessage()]


async def test_reads_both_outputs_in_order(server: ContainerServer) -> None:
    server.messages = [b"\x01one", b"\x02two", b"\x01", b"", b"\x01three", SUCCESS]
    client = AsyncClient(server.address)
    async with client, client.open_exec("web", COMMAND, namespace="demo") as session:
        chunks = [chunk async for chunk in session]
        assert session.exit_code == 0
        assert await session.read() is None
        await session.write(b"late")
    assert chunks == [
        OutputChunk(LogStream.STDOUT, b"one"),
        OutputChunk(LogStream.STDERR, b"two"),
        OutputChunk(LogStream.STDOUT, b"three"),
    ]


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (404, "404 page not found", NotFound, "HTTP status 404: 404 page not found"),
        (502, "<html>", Unavailable, "HTTP status 502"),
        (302, "", KubeconnectError, "HTTP status 302"),
        (
            429,
            {"kind": "Status", "reason": "TooManyRequests", "message": "later", "code": 429},
            TooManyRequests,
            "later",
        ),
        (500, {"kind": "Status", "details": {"causes": 1}}, Internal, "INTERNAL"),
    ],
)
async def test_raises_the_response_in_place_of_a_websocket(
    server: ContainerServer,
    status: int,
    body: object,
    kind: type[KubeconnectError],
    message: str,
) -> None:
    # A redirect is not followed, because it would send the token elsewhere.
    server.reject(status, body, X_Request_Id="one", Location="/elsewhere")
    async with AsyncClient(server.address) as client:
        with pytest.raises(kind) as raised:
            await client.exec("web", COMMAND, namespace="demo")
    assert message in str(raised.value)
    assert raised.value.request_id == "one"
    assert len(server.requests) == 1


async def test_a_rejected_token_is_renewed_once(server: ContainerServer) -> None:
    tokens = iter(["first", "second", "third", "fourth"])
    server.reject(401)
    async with AsyncClient(server.address, token=lambda: next(tokens)) as client:
        assert (await client.exec("web", COMMAND, namespace="demo")).exit_code == 0
        server.reject(401)
        server.reject(401)
        with pytest.raises(Unauthenticated):
            await client.exec("web", COMMAND, namespace="demo")
    sent = [request.headers["Authorization"] for request in server.requests]
    assert sent == [f"Bearer {token}" for token in ("first", "second", "third", "fourth")]


async def test_a_server_must_support_the_protocol(server: ContainerServer) -> None:
    server.protocols = []
    async with AsyncClient(server.address) as client:
        with pytest.raises(Unimplemented, match=r"v5\.channel\.k8s\.io"):
            await client.exec("web", COMMAND, namespace="demo")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (b"\x03oops", "oops"),
        (b'\x03{"status":"Failure","reason":"NonZeroExitCode","message":"odd"}', "odd"),
    ],
)
async def test_raises_a_status_that_is_no_exit_code(
    server: ContainerServer, status: bytes, message: str
) -> None:
    server.messages = [status]
    async with AsyncClient(server.address) as client:
        with pytest.raises(Internal, match=message):
            await client.exec("web", COMMAND, namespace="demo")


async def test_a_lost_connection_is_no_end(server: ContainerServer) -> None:
    server.messages = [b"\x01part"]
    async with AsyncClient(server.address) as client:
        for server.then in ("close", "abort"):
            with pytest.raises(Unavailable, match="the connection was lost"):
                await client.exec("web", COMMAND, namespace="demo")
        async with client.open_port("web", 80, namespace="demo") as stream:
            with pytest.raises(Unavailable, match="the connection was lost"):
                await stream.read()


async def test_an_unreachable_service(server: ContainerServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    async with AsyncClient(address) as client:
        with pytest.raises(Unavailable, match=f"kubeconnect is unreachable at {address}"):
            await client.exec("web", COMMAND, namespace="demo")


async def test_calls_end_after_their_timeout(server: ContainerServer) -> None:
    server.messages, server.then = [], "wait"
    async with AsyncNothingLeft(), AsyncClient(server.address) as client:
        with pytest.raises(DeadlineExceeded):
            await client.exec("web", COMMAND, namespace="demo", timeout=0.2)
        # The command does not read its input.
        with pytest.raises(DeadlineExceeded):
            await client.exec("web", COMMAND, namespace="demo", stdin=bytes(2**26), timeout=0.5)
        async with client.attach("web", namespace="demo", timeout=0.2) as session:
            with pytest.raises(DeadlineExceeded):
                await session.read()


async def test_connecting_ends_after_the_timeout_and_with_the_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as accepts:
        address = f"http://127.0.0.1:{accepts.getsockname()[1]}"
        async with AsyncNothingLeft():
            client = AsyncClient(address)
            with pytest.raises(DeadlineExceeded):
                await client.exec("web", COMMAND, namespace="demo", timeout=0.2)
            blocked = AsyncBlocked(lambda: client.exec("web", COMMAND, namespace="demo"))
            await blocked.parked()
            await client.close()
            assert isinstance(await blocked.result(), Cancelled)
            with pytest.raises(Cancelled):
                await client.exec("web", COMMAND, namespace="demo")


async def test_the_end_of_the_client_ends_sessions(server: ContainerServer) -> None:
    server.messages, server.then = [], "wait"
    async with AsyncNothingLeft():
        client = AsyncClient(server.address)
        session = client.open_exec("web", COMMAND, namespace="demo")
        stream = client.open_port("web", 80, namespace="demo")
        forward = client.port_forward("web", 80, namespace="demo")
        async with session, stream, forward:
            reads = [AsyncBlocked(session.read), AsyncBlocked(stream.read)]
            for each in reads:
                await each.parked()
            await client.close()
            for each in reads:
                assert isinstance(await each.result(), Cancelled)
            with pytest.raises(Cancelled):
                await session.write(b"late")
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", forward.local_port)).close()


async def test_uses_the_certificates_of_the_client(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    authority.issue_cert("localhost").configure_cert(context)
    own = authority.issue_cert("caller@example.com")
    authority.cert_pem.write_to_path(tmp_path / "ca")
    own.cert_chain_pems[0].write_to_path(tmp_path / "certificate")
    own.private_key_pem.write_to_path(tmp_path / "key")
    with container_server(context) as server:
        async with AsyncClient(
            server.address,
            ca_file=tmp_path / "ca",
            client_certificate=tmp_path / "certificate",
            client_key=tmp_path / "key",
        ) as client:
            assert (await client.exec("web", COMMAND, namespace="demo")).exit_code == 0
        trustme.CA().cert_pem.write_to_path(tmp_path / "other")
        async with AsyncClient(server.address, ca_file=tmp_path / "other") as client:
            with pytest.raises(Unavailable, match="certificate verify failed"):
                await client.exec("web", COMMAND, namespace="demo")


async def test_rejects_arguments_that_would_be_another_request(server: ContainerServer) -> None:
    async with AsyncClient(server.address) as client:
        with pytest.raises(TypeError, match="command must be a list of str"):
            await client.exec("web", "ls", namespace="demo")
        with pytest.raises(ValueError, match="command must not be empty"):
            await client.exec("web", [], namespace="demo")
        with pytest.raises(ValueError, match=r"pod must be a name, not '\.\.'"):
            client.attach("..", namespace="demo")
        with pytest.raises(ValueError, match="port must be between 1 and 65535"):
            client.open_port("web", 0, namespace="demo")
        session = client.open_exec("web", COMMAND, namespace="demo", stdin=False)
        with pytest.raises(RuntimeError, match="use the session as a context manager"):
            await session.read()
        async with session:
            with pytest.raises(ValueError, match="pass stdin=True"):
                await session.write(b"")
            with pytest.raises(ValueError, match="pass tty=True"):
                await session.resize(width=80, height=24)
            with pytest.raises(RuntimeError, match="entered only once"):
                await session.__aenter__()
    assert len(server.requests) == 1


def archive_of(name: str) -> bytes:
    """Return the archive of one file."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    return file.getvalue()


async def test_a_container_cannot_write_outside_of_the_target(
    server: ContainerServer, tmp_path: Path
) -> None:
    async with AsyncClient(server.address) as client:
        for name in ("../evil", "/evil", "data/../../evil", "other", "data-evil"):
            server.messages = [b"\x01" + archive_of(name), SUCCESS]
            with pytest.raises(CopyError, match="leaves the target"):
                await client.copy_from("web", "/data", tmp_path / "to", namespace="demo")
    assert list(tmp_path.iterdir()) == []


async def test_an_archive_may_be_invalid(server: ContainerServer, tmp_path: Path) -> None:
    failed = {"reason": "NonZeroExitCode", "details": {"causes": [{"reason": "ExitCode"}]}}
    failed["details"]["causes"][0]["message"] = "2"  # type: ignore[index]
    cases = [
        ([b"\x01no archive", SUCCESS], "invalid"),
        ([SUCCESS], "invalid|empty"),
        ([b"\x02tar: gone\n", b"\x03" + json.dumps(failed).encode()], "exit code 2.*tar: gone"),
    ]
    async with AsyncClient(server.address) as client:
        for server.messages, error in cases:
            with pytest.raises(CopyError, match=error):
                await client.copy_from("web", "/data", tmp_path / "to", namespace="demo")
    assert list(tmp_path.iterdir()) == []


async def test_a_function_for_errors_may_fail(
    server: ContainerServer, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(error: KubeconnectError) -> None:
        raise RuntimeError("mine")

    server.reject(404)
    client = AsyncClient(server.address)
    async with client, client.port_forward("web", 80, namespace="demo", on_error=fails) as forward:
        await run_blocking(lambda: wait_for_reset(forward.local_port))
    assert "on_error has failed" in caplog.text


def wait_for_reset(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(20)
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
