import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from kubeconnect import Unauthenticated, Unavailable
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import watch_pb2 as pb
from tests.fake import FakeService, event, pod, serve

TOKEN = "s3cret-t0ken"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
"""The frame with which a server begins a connection."""
HEADERS = b"\x01\x04\x00\x00\x00\x01"
"""The type, the flags and the stream of the frame that begins the first call."""


def server_credentials(
    authority: trustme.CA, clients: trustme.CA | None = None
) -> grpc.ServerCredentials:
    issued = authority.issue_cert("127.0.0.1")
    chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
    return grpc.ssl_server_credentials(
        [(issued.private_key_pem.bytes(), chain)],
        root_certificates=clients.cert_pem.bytes() if clients else None,
        require_client_auth=clients is not None,
    )


@contextmanager
def another_server(authority: trustme.CA | None = None, status: str | None = None) -> Iterator[int]:
    """Run a server that is not kubeconnect, with TLS if there is an authority. It responds over
    HTTP/2 with a status, or over HTTP/1.1. Yields its port.
    """
    if status is None:
        response = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    else:  # HEADERS with :status, which ends the first call
        block = b"\x08\x03" + status.encode()
        response = len(block).to_bytes(3, "big") + b"\x01\x05\x00\x00\x00\x01" + block
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if authority is not None:
        authority.issue_cert("127.0.0.1").configure_cert(context)

    def respond() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with suppress(OSError), connection:
                    stream = connection
                    if authority is not None:
                        stream = context.wrap_socket(connection, server_side=True)
                    with stream:
                        if status is not None:
                            stream.sendall(SETTINGS)
                        received = stream.recv(65536)
                        while status is not None and received and HEADERS not in received:
                            received = stream.recv(65536)
                        stream.sendall(response)
                        stream.recv(65536)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=respond)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def write_pair(authority: trustme.CA, folder: Path, name: str = "client") -> tuple[Path, Path]:
    """Write a client certificate and its key, and return their paths."""
    issued = authority.issue_cert("ann@example.com", common_name="ann")
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    certificate.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(key))
    return certificate, key


async def test_every_call_has_the_token(service: FakeService) -> None:
    service.play([event(pb.EVENT_TYPE_SYNCED, None, "9")])
    async with AsyncClient(service.address, token=TOKEN) as client:
        await client.list("pods")
        async with client.watch("pods") as events:
            await anext(events)
    assert [each["authorization"] for each in service.metadata] == [f"Bearer {TOKEN}"] * 2


async def test_without_a_token_no_header_is_sent(client: AsyncClient, service: FakeService) -> None:
    await client.list("pods")
    assert "authorization" not in service.metadata[0]


async def test_connection_to_this_host_uses_no_proxy(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("no_grpc_proxy", raising=False)
    monkeypatch.setenv("grpc_proxy", "http://127.0.0.1:1")
    async with AsyncClient(service.address, token=TOKEN) as client:
        await client.list("pods")


@pytest.mark.parametrize("address", ["http://example.com:8080", "http://10.0.0.1", "http://[::]"])
async def test_a_token_is_not_sent_in_plain_text(address: str) -> None:
    with pytest.raises(ValueError, match="plain text") as caught:
        AsyncClient(address, token=TOKEN)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("token", ["", "two words", "line\n", "ümlaut"])
async def test_token_that_no_header_can_have_is_rejected(token: str) -> None:
    with pytest.raises(ValueError, match="token is empty, or has") as caught:
        AsyncClient("127.0.0.1:1", token=token)
    assert not token or token not in str(caught.value)


async def test_tls_uses_the_given_authority(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serve(server_credentials(authority)) as service:
        service.objects = [pod("web")]
        async with AsyncClient(service.address, ca_file=tmp_path / "ca.pem", token=TOKEN) as client:
            assert await client.get("pods", "web", namespace="demo")
        assert service.metadata[0]["authorization"] == f"Bearer {TOKEN}"


async def test_tls_rejects_an_unknown_authority(tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serve(server_credentials(trustme.CA())) as service:
        async with AsyncClient(service.address, ca_file=tmp_path / "ca.pem", token=TOKEN) as client:
            with pytest.raises(Unavailable):
                await client.get("pods", "web")
        assert service.metadata == []


@pytest.mark.parametrize("ca_file", [None, "another.pem"])
async def test_an_unknown_authority_is_named(ca_file: str | None, tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "another.pem"))
    path = ca_file and tmp_path / ca_file
    with serve(server_credentials(trustme.CA())) as service:
        async with AsyncClient(service.address, ca_file=path) as client:
            with pytest.raises(Unavailable, match=r"not trusted .* pass its CA .* ca_file"):
                await client.list("pods")


async def test_a_certificate_of_another_host_is_named(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serve(server_credentials(authority)) as service:
        address = service.address.replace("127.0.0.1", "localhost")
        async with AsyncClient(address, ca_file=tmp_path / "ca.pem") as client:
            with pytest.raises(Unavailable, match="certificate is not for localhost"):
                await client.list("pods")


async def test_tls_at_a_port_without_tls_is_named(service: FakeService) -> None:
    async with AsyncClient(service.address.replace("http:", "https:")) as client:
        with pytest.raises(Unavailable, match="does not use TLS: use http://"):
            await client.list("pods")


async def test_plain_text_at_a_port_with_tls_is_named() -> None:
    with serve(server_credentials(trustme.CA())) as service:
        async with AsyncClient(service.address.replace("https:", "http:")) as client:
            with pytest.raises(Unavailable, match="if it uses TLS, use https://"):
                await client.list("pods")


async def test_a_server_without_http2_is_named(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with another_server() as port:
        async with AsyncClient(f"http://127.0.0.1:{port}") as client:
            with pytest.raises(Unavailable, match=r"not kubeconnect, .* if it uses TLS, use https"):
                await client.list("pods")
    with another_server(authority) as port:
        address = f"https://127.0.0.1:{port}"
        async with AsyncClient(address, ca_file=tmp_path / "ca.pem") as client:
            with pytest.raises(Unavailable, match="does not use HTTP/2: it is not kubeconnect"):
                await client.list("pods")


@pytest.mark.parametrize(("status", "error"), [("403", Unavailable), ("401", Unauthenticated)])
async def test_the_api_server_in_place_of_the_service_is_named(
    status: str, error: type[Exception]
) -> None:
    with another_server(status=status) as port:
        async with AsyncClient(f"http://127.0.0.1:{port}") as client:
            problem = f"HTTP status {status}, not as kubeconnect does: .* not of the API server"
            with pytest.raises(error, match=problem):
                await client.list("pods")


def test_grpc_writes_nothing_to_stderr() -> None:
    program = (
        "import os, kubeconnect\n"
        "assert 'GRPC_VERBOSITY' not in os.environ\n"
        "try:\n    kubeconnect.Client({!r}).list('pods')\n"
        "except kubeconnect.Unavailable:\n    print('unavailable')\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "GRPC_VERBOSITY"}
    with serve(server_credentials(trustme.CA())) as service:
        ran = subprocess.run(
            [sys.executable, "-c", program.format(service.address)],
            env=environment,
            capture_output=True,
            text=True,
        )
    assert (ran.stdout, ran.stderr) == ("unavailable\n", "")


async def test_a_ca_file_needs_tls(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="https://"):
        AsyncClient("http://127.0.0.1:1", ca_file=tmp_path / "ca.pem")


async def test_tls_sends_the_client_certificate(tmp_path: Path) -> None:
    authority, clients = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    certificate, key = write_pair(clients, tmp_path)
    with serve(server_credentials(authority, clients)) as service:
        service.objects = [pod("web")]
        async with AsyncClient(
            service.address,
            ca_file=tmp_path / "ca.pem",
            client_certificate=certificate,
            client_key=str(key),
        ) as client:
            assert await client.get("pods", "web", namespace="demo")


async def test_without_a_client_certificate_none_is_sent(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serve(server_credentials(authority, trustme.CA())) as service:
        async with AsyncClient(service.address, ca_file=tmp_path / "ca.pem") as client:
            with pytest.raises(Unavailable):
                await client.get("pods", "web")
        assert service.metadata == []


async def test_a_client_certificate_needs_its_key(tmp_path: Path) -> None:
    certificate, key = write_pair(trustme.CA(), tmp_path)
    other, _ = write_pair(trustme.CA(), tmp_path, "other")
    address = "https://127.0.0.1:1"
    with pytest.raises(ValueError, match="pass both"):
        AsyncClient(address, client_certificate=certificate)
    with pytest.raises(ValueError, match="pass both"):
        AsyncClient(address, client_key=key)
    with pytest.raises(ValueError, match=r"other\.pem .* must be a certificate and its key"):
        AsyncClient(address, client_certificate=other, client_key=key)
    with pytest.raises(FileNotFoundError, match=r"missing\.key"):
        AsyncClient(address, client_certificate=other, client_key=tmp_path / "missing.key")


async def test_a_client_certificate_needs_tls(tmp_path: Path) -> None:
    certificate, key = write_pair(trustme.CA(), tmp_path)
    with pytest.raises(ValueError, match="https://"):
        AsyncClient("http://127.0.0.1:1", client_certificate=certificate, client_key=key)


async def test_a_key_with_a_password_is_rejected(tmp_path: Path) -> None:
    certificate, key = write_pair(trustme.CA(), tmp_path)
    private = load_pem_private_key(key.read_bytes(), None)
    encrypted = private.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"s3cret")
    )
    key.write_bytes(encrypted)
    with pytest.raises(ValueError, match="without a password"):
        AsyncClient("https://127.0.0.1:1", client_certificate=certificate, client_key=key)
