from pathlib import Path

import pytest

from kubeconnect import ConfigurationError, _places
from kubeconnect.aio import AsyncClient, connect
from tests.fake import FakeService


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a pod without other settings."""
    for variable in ("ADDRESS", "TOKEN", "TOKEN_FILE", "CA_FILE"):
        monkeypatch.delenv(f"KUBECONNECT_{variable}", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(_places, "POD_TOKEN_FILE", tmp_path / "token")
    (tmp_path / "token").write_text("t1\n")


async def test_in_a_pod_the_client_reads_its_renewed_token(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONNECT_ADDRESS", service.address)
    async with connect() as client:
        assert isinstance(client, AsyncClient)
        await client.list("pods")
        (tmp_path / "token").write_text("t2-renewed\n")
        await client.list("pods")
    sent = [each["authorization"] for each in service.metadata]
    assert sent == ["Bearer t1", "Bearer t2-renewed"]


async def test_a_token_may_be_a_function(service: FakeService) -> None:
    async def token() -> str:
        return "t3"

    async with connect(service.address, token=token) as client:
        await client.list("pods")
    assert service.metadata[0]["authorization"] == "Bearer t3"


async def test_an_invalid_address_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="the arguments: invalid address"):
        connect("")
