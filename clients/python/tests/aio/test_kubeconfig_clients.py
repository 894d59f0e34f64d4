"""Tests of clients with the credentials of kubeconfigs."""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest

from kubeconnect import Cancelled, ConfigurationError, Unavailable
from kubeconnect.aio import AsyncClient, connect
from kubeconnect.v1 import watch_pb2
from tests.aio.test_certificate_rotation import Authority, replace
from tests.fake import Failure, FakeService, batch, event, serve

RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
BOOKMARK = event(watch_pb2.EVENT_TYPE_BOOKMARK, None, "12")
EXPIRED = Failure(grpc.StatusCode.UNAUTHENTICATED, "the credential has expired")
PLUGIN = """\
#!{python}
import json, pathlib, sys
statuses = pathlib.Path(__file__).with_name("statuses")
first, *rest = json.loads(statuses.read_text())
statuses.write_text(json.dumps(rest or [first]))
version = "client.authentication.k8s.io/v1"
print(json.dumps({{"apiVersion": version, "kind": "ExecCredential", "status": first}}))
"""


def kubeconfig(folder: Path, user: dict[str, Any]) -> Path:
    path = folder / "config"
    context = {"name": "prod", "context": {"cluster": "prod", "user": "ann"}}
    content = {
        "current-context": "prod",
        "contexts": [context],
        "users": [{"name": "ann", "user": user}],
    }
    path.write_text(json.dumps(content))
    return path


def exec_of(folder: Path, *statuses: dict[str, str]) -> dict[str, Any]:
    """Return a user whose plugin prints these statuses, and the last one repeatedly."""
    plugin = folder / "plugin"
    plugin.write_text(PLUGIN.format(python=sys.executable))
    plugin.chmod(0o700)
    (folder / "statuses").write_text(json.dumps(statuses))
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./plugin",
            "interactiveMode": "Never",
        }
    }


def sent(service: FakeService) -> list[str]:
    return [str(each.get("authorization", "")).removeprefix("Bearer ") for each in service.metadata]


async def test_a_token(service: FakeService, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "t1"})
    async with AsyncClient(service.address, kubeconfig=path) as client:
        await client.list("pods")
    async with connect(service.address, kubeconfig=path, context="prod") as client:
        await client.list("pods")
    assert sent(service) == ["t1", "t1"]


async def test_a_token_file_takes_precedence_and_is_read_again(
    service: FakeService, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("t1")
    path = kubeconfig(tmp_path, {"token": "unused", "tokenFile": "token"})
    async with AsyncClient(service.address, kubeconfig=path) as client:
        await client.list("pods")
        replace(tmp_path / "token", b"t2")
        await client.list("pods")
    assert sent(service) == ["t1", "t2"]


async def test_a_client_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("data")
    data = {
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }
    with serve(authority.server_credentials()) as service:
        path = kubeconfig(tmp_path, data)
        async with AsyncClient(
            service.address, kubeconfig=path, ca_file=authority.ca_file
        ) as client:
            await client.list("pods")
        authority.write("file")
        path = kubeconfig(
            tmp_path, {"client-certificate": "client.pem", "client-key": "client.key"}
        )
        async with AsyncClient(
            service.address, kubeconfig=path, ca_file=authority.ca_file
        ) as client:
            await client.list("pods")
            authority.write("renewed")
            await client.list("pods")
    assert service.certified == ["data", "file", "renewed"]


async def test_a_plugin_runs_for_the_first_call_and_when_its_token_is_rejected(
    service: FakeService, tmp_path: Path
) -> None:
    path = kubeconfig(tmp_path, exec_of(tmp_path, {"token": "t1"}, {"token": "t2"}))
    async with AsyncClient(service.address, kubeconfig=path) as client:
        await client.list("pods")
        await client.list("pods")
        service.tokens = {"t2"}
        await client.list("pods")
        await client.list("pods")
    assert sent(service) == ["t1", "t1", "t1", "t2", "t2"]


async def test_a_token_of_a_plugin_takes_no_precedence_over_a_fixed_one(
    service: FakeService, tmp_path: Path
) -> None:
    user = {"token": "t1", **exec_of(tmp_path, {"token": "t2"})}
    async with AsyncClient(service.address, kubeconfig=kubeconfig(tmp_path, user)) as client:
        await client.list("pods")
    assert sent(service) == ["t1"]


async def test_a_watch_continues_with_the_next_token_of_a_plugin(
    service: FakeService, tmp_path: Path
) -> None:
    service.play(batch("p1", RESET), EXPIRED, batch("p2", BOOKMARK))
    expired = {"token": "t1", "expirationTimestamp": "2001-01-01T00:00:00Z"}
    path = kubeconfig(tmp_path, exec_of(tmp_path, expired, {"token": "t2"}))
    async with (
        AsyncClient(service.address, kubeconfig=path) as client,
        client.watch("pods") as events,
    ):
        assert [(await anext(events)).type.name for _ in range(2)] == ["RESET", "BOOKMARK"]
    assert sent(service) == ["t1", "t2"]
    assert [request.resume_token for request in service.requests] == ["", "p1"]


async def test_a_watch_survives_a_plugin_that_fails(
    service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)
    service.play(batch("p1", RESET), EXPIRED, batch("p2", BOOKMARK))
    expired = {"token": "t1", "expirationTimestamp": "2001-01-01T00:00:00Z"}
    path = kubeconfig(tmp_path, exec_of(tmp_path, expired, {}, {"token": "t2"}))
    lost: list[str] = []
    async with (
        AsyncClient(service.address, kubeconfig=path) as client,
        client.watch("pods", on_retry=lambda error, _: lost.append(str(error))) as events,
    ):
        assert [(await anext(events)).type.name for _ in range(2)] == ["RESET", "BOOKMARK"]
    assert sent(service) == ["t1", "t2"]
    assert len(lost) == 2
    assert "printed neither a token nor a client certificate" in lost[1]


async def test_a_plugin_may_return_certificates(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    def status(name: str, expires: str) -> dict[str, str]:
        certificate, key = authority.issue(name)
        return {
            "clientCertificateData": certificate.decode(),
            "clientKeyData": key.decode(),
            "expirationTimestamp": expires,
        }

    statuses = status("one", "2001-01-01T00:00:00Z"), status("two", "2999-01-01T00:00:00Z")
    path = kubeconfig(tmp_path, exec_of(tmp_path, *statuses))
    with serve(authority.server_credentials()) as service:
        async with AsyncClient(
            service.address, kubeconfig=path, ca_file=authority.ca_file
        ) as client:
            await client.list("pods")
            await client.list("pods")
            await client.list("pods")
    assert service.certified == ["one", "two", "two"]


async def test_credentials_are_not_sent_in_plain_text(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "s3cret"})
    with pytest.raises(ValueError, match="plain text"):
        AsyncClient("http://example.com", kubeconfig=path)
    with pytest.raises(ConfigurationError, match="plain text"):
        connect("http://example.com", kubeconfig=path)


async def test_a_client_certificate_needs_tls(tmp_path: Path) -> None:
    Authority(tmp_path).write("ann")
    pair = {"client-certificate": "client.pem", "client-key": "client.key"}
    path = kubeconfig(tmp_path, pair)
    with pytest.raises(ConfigurationError, match=r"ann.*no effect over plain text"):
        AsyncClient("http://127.0.0.1:1", kubeconfig=path)
    data = {f"{key}-data": base64.b64encode(b"s3cret").decode() for key in pair}
    with pytest.raises(ConfigurationError, match="must be in PEM") as caught:
        AsyncClient("https://127.0.0.1:1", kubeconfig=kubeconfig(tmp_path, data))
    assert "s3cret" not in str(caught.value)


async def test_a_kubeconfig_excludes_other_credentials(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "t1"})
    for others in ({"token": "t2"}, {"token_file": path}, {"client_certificate": path}):
        with pytest.raises(ValueError, match=r"pass no others|pass both"):
            AsyncClient("127.0.0.1:1", kubeconfig=path, **others)


async def test_a_call_reports_that_the_plugin_fails(service: FakeService, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, exec_of(tmp_path, {}))
    async with AsyncClient(service.address, kubeconfig=path) as client:
        with pytest.raises(Unavailable, match="printed neither a token nor"):
            await client.list("pods")
        with pytest.raises(Unavailable, match="printed neither a token nor"):
            await anext(client.watch("pods"))
    with pytest.raises(Cancelled, match="the client is closed"):
        await client.list("pods")
    assert service.requests == []
