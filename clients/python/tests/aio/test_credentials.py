from pathlib import Path

import grpc
import pytest
import trustme

from kubeconnect import Unavailable
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import watch_pb2 as pb
from tests.fake import FakeService, event, pod, serve

TOKEN = "s3cret-t0ken"


def server_credentials(authority: trustme.CA) -> grpc.ServerCredentials:
    issued = authority.issue_cert("127.0.0.1")
    chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
    return grpc.ssl_server_credentials([(issued.private_key_pem.bytes(), chain)])


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
