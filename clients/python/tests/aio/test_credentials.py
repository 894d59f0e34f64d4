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

from kubeconnect import Unavailable
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import watch_pb2 as pb
from tests.fake import FakeService, event, pod, serve

TOKEN = "s3cret-t0ken"


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
