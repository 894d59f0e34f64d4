"""Tests of client certificates that are renewed while a client uses them."""

import os
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
import trustme

from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import watch_pb2
from tests.fake import Failure, FakeService, batch, event, serve

RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
BOOKMARK = event(watch_pb2.EVENT_TYPE_BOOKMARK, None, "12")
EXPIRED = Failure(grpc.StatusCode.UNAUTHENTICATED, "the credential has expired")


class Authority:
    """A service that requires client certificates, and the authority that issues them."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self.ca_file = folder / "ca.pem"
        self.certificate = folder / "client.pem"
        self.key = folder / "client.key"
        self._authority.cert_pem.write_to_path(str(self.ca_file))

    def server_credentials(self) -> grpc.ServerCredentials:
        issued = self._authority.issue_cert("127.0.0.1")
        roots = self._authority.cert_pem.bytes()
        pair = (issued.private_key_pem.bytes(), issued.cert_chain_pems[0].bytes())
        return grpc.ssl_server_credentials([pair], roots, require_client_auth=True)

    def issue(self, name: str) -> tuple[bytes, bytes]:
        """Return a client certificate and its key."""
        issued = self._authority.issue_cert(f"{name}@example.com", common_name=name)
        return issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes()

    def write(self, name: str) -> None:
        """Replace both files with a new pair."""
        certificate, key = self.issue(name)
        replace(self.key, key)
        replace(self.certificate, certificate)


def replace(file: Path, content: bytes) -> None:
    """Replace a file atomically."""
    new = file.with_suffix(".new")
    new.write_bytes(content)
    os.replace(new, file)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def secured(authority: Authority) -> Iterator[FakeService]:
    with serve(authority.server_credentials()) as service:
        yield service


def client_of(service: FakeService, authority: Authority) -> AsyncClient:
    return AsyncClient(
        service.address,
        ca_file=authority.ca_file,
        client_certificate=authority.certificate,
        client_key=authority.key,
    )


async def test_later_calls_use_the_renewed_certificate(
    secured: FakeService, authority: Authority
) -> None:
    authority.write("one")
    async with client_of(secured, authority) as client:
        await client.list("pods")
        await client.list("pods")
        authority.write("two")
        await client.list("pods")
        await client.list("pods")
    assert secured.certified == ["one", "one", "two", "two"]
    assert len(set(secured.peers)) == 2


async def test_a_stream_continues_on_its_connection(
    secured: FakeService, authority: Authority
) -> None:
    authority.write("one")
    secured.play(batch("t1", RESET, SYNCED))
    async with client_of(secured, authority) as client, client.watch("pods") as events:
        seen = [(await anext(events)).type.name for _ in range(2)]
        authority.write("two")
        await client.list("pods")
        secured.play(batch("t2", BOOKMARK))
        seen.append((await anext(events)).type.name)
    assert seen == ["RESET", "SYNCED", "BOOKMARK"]
    assert secured.certified == ["one", "two"]


async def test_a_watch_resumes_with_the_renewed_certificate_when_its_own_expires(
    secured: FakeService, authority: Authority
) -> None:
    authority.write("one")
    secured.play(batch("t1", RESET, SYNCED))
    async with client_of(secured, authority) as client, client.watch("pods") as events:
        seen = [(await anext(events)).type.name for _ in range(2)]
        authority.write("two")
        secured.play(EXPIRED, batch("t2", BOOKMARK))
        seen.append((await anext(events)).type.name)
    assert seen == ["RESET", "SYNCED", "BOOKMARK"]
    assert secured.certified == ["one", "two"]
    assert [request.resume_token for request in secured.requests] == ["", "t1"]


async def test_a_rejected_call_is_retried_with_the_renewed_certificate(
    secured: FakeService, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority.write("one")
    refuse = FakeService._begin

    def renew(service: FakeService, request: object, context: grpc.ServicerContext) -> None:
        """Renew the certificate while the first call is under way."""
        if not service.certified:
            authority.write("two")
            service.refusals.append(EXPIRED)
        refuse(service, request, context)

    monkeypatch.setattr(FakeService, "_begin", renew)
    async with client_of(secured, authority) as client:
        await client.list("pods")
    assert secured.certified == ["one", "two"]


async def test_half_of_a_renewed_pair_is_not_used(
    secured: FakeService, authority: Authority
) -> None:
    authority.write("one")
    async with client_of(secured, authority) as client:
        await client.list("pods")
        certificate, key = authority.issue("two")
        replace(authority.key, key)
        await client.list("pods")
        authority.certificate.unlink()
        await client.list("pods")
        replace(authority.certificate, certificate)
        await client.list("pods")
    assert secured.certified == ["one", "one", "one", "two"]


async def test_one_file_may_have_the_certificate_and_its_key(
    secured: FakeService, authority: Authority
) -> None:
    authority.key = authority.certificate
    authority.certificate.write_bytes(b"".join(authority.issue("one")))
    async with client_of(secured, authority) as client:
        await client.list("pods")
        replace(authority.certificate, b"".join(authority.issue("two")))
        await client.list("pods")
    assert secured.certified == ["one", "two"]
