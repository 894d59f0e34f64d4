"""Tests of the options of the connection, and of the errors of connections."""

from __future__ import annotations

import json
from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kubeconnect import connect
from kubeconnect._cli._program import NAME, program
from tests.cli_service import CliService, run, serve_cli


@pytest.fixture
def service() -> Iterator[CliService]:
    with serve_cli() as service:
        yield service


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Return a kubeconfig with two contexts, each with a token of its own."""
    names = ("dev", "prod")
    path = tmp_path / "config"
    path.write_text(
        json.dumps(
            {
                "current-context": "dev",
                "contexts": [{"name": each, "context": {"user": each}} for each in names],
                "users": [{"name": each, "user": {"token": f"{each}-token"}} for each in names],
            }
        )
    )
    return path


def test_there_is_an_option_for_each_setting_but_a_token() -> None:
    # A token would be visible in the list of processes.
    ctx = program.make_context(NAME, [], resilient_parsing=True)
    options = {each.name for each in program.get_params(ctx) if isinstance(each, click.Option)}
    settings = set(signature(connect).parameters) - {"token", "timeout"}
    assert settings | {"request_timeout"} <= options


@pytest.mark.parametrize(
    ("arguments", "variables", "token"),
    [
        (["--context", "prod"], {}, "prod-token"),
        (["--kubeconfig", "CONFIG"], {"KUBECONFIG": "/nothing"}, "dev-token"),
        ([], {}, ""),
        ([], {"KUBECONNECT_CONTEXT": "prod"}, "prod-token"),
        (["--context", "dev"], {"KUBECONNECT_CONTEXT": "prod"}, "dev-token"),
        (["--context", "dev"], {"KUBECONNECT_TOKEN": "other"}, "dev-token"),
        (["--token-file", "TOKEN"], {"KUBECONNECT_CONTEXT": "prod"}, "file-token"),
    ],
)
def test_credentials(
    service: CliService,
    kubeconfig: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    variables: dict[str, str],
    token: str,
) -> None:
    (kubeconfig.parent / "token").write_text("file-token")
    for key in ("KUBECONNECT_CONTEXT", "KUBECONNECT_TOKEN", "KUBECONNECT_TOKEN_FILE"):
        monkeypatch.delenv(key, raising=False)
    for key, value in {"KUBECONFIG": str(kubeconfig), **variables}.items():
        monkeypatch.setenv(key, value)
    files = {"CONFIG": str(kubeconfig), "TOKEN": str(kubeconfig.parent / "token")}
    result = run(service, "who-am-i", *(files.get(each, each) for each in arguments))
    assert result.exit_code == 0, result.stderr
    assert service._token() == token


def test_an_invalid_connection_has_a_sentence_only(service: CliService, kubeconfig: Path) -> None:
    result = run(service, "--kubeconfig", str(kubeconfig), "get", "pods", "--context", "nothing")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert '"nothing"' in result.stderr
    result = run(service, "get", "pods", "--context", "a", "--token-file", "b")
    assert result.stderr == (
        "error: the arguments: token_file and context are mutually exclusive: set one of them\n"
    )


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_unreachable_service_is_an_error_of_one_line(scheme: str) -> None:
    address = f"{scheme}://127.0.0.1:1"
    arguments = ["--address", address, "count", "nodes", "--request-timeout", "5s"]
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: kubeconnect is unreachable at {address}: Connection refused (111)\n"
    )


def test_plain_text_to_which_tls_is_spoken_has_a_hint(service: CliService) -> None:
    address = service.address.replace("http://", "https://")
    result = CliRunner().invoke(program, ["--address", address, "count", "nodes"])
    error, hint = result.stderr.splitlines()
    assert error.startswith(f"error: kubeconnect is unreachable at {address}: ")
    assert hint == f"hint: the service may speak plain text: use {service.address}"
