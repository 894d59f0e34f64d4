"""Tests of the commands that return credentials. The commands are real scripts."""

import json
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from kubeconnect import Cancelled, ConfigurationError, DeadlineExceeded, Unavailable
from kubeconnect._exec_credentials import ExecCredentials, ExecSpec
from kubeconnect._transport.identity import KeyPair, Presented
from kubeconnect._transport.tokens import bearer

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)

PLUGIN = """\
#!{python}
import json, os, pathlib, sys
folder = pathlib.Path(__file__).parent
runs = folder / "runs"
number = len(runs.read_text().splitlines()) + 1 if runs.exists() else 1
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
with runs.open("a") as file:
    file.write(json.dumps([sys.argv[1:], info, sys.stdin.read()]) + "\\n")
sys.stderr.write("a hint for the user\\n")
sys.stdout.write((folder / "output").read_text().replace("NUMBER", str(number)))
sys.exit(int(os.environ.get("CODE", "0")))
"""


class Plugin:
    """A script that prints a credential and records its runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "plugin"
        self.path.write_text(PLUGIN.format(python=sys.executable))
        self.path.chmod(0o700)
        self.spec = ExecSpec("user ann", str(self.path), interactive_mode="Never")
        self.prints({"token": "t-NUMBER"})

    def prints(self, status: object, version: str = V1, kind: str = "ExecCredential") -> None:
        self.prints_text(json.dumps({"apiVersion": version, "kind": kind, "status": status}))

    def prints_text(self, text: str) -> None:
        self.path.with_name("output").write_text(text)

    @property
    def runs(self) -> list[Any]:
        runs = self.path.with_name("runs")
        return [json.loads(each) for each in runs.read_text().splitlines()] if runs.exists() else []


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


class Clock:
    """A time that only ``advance`` changes."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **time: float) -> None:
        self.now += timedelta(**time)


def test_the_command_runs_once_for_a_credential_without_expiration(plugin: Plugin) -> None:
    clock = Clock()
    credentials = ExecCredentials(plugin.spec, clock=clock)
    assert plugin.runs == []
    assert credentials.current() is None
    assert [credentials.get().token for _ in range(2)] == ["t-1", "t-1"]
    clock.advance(days=30)
    assert credentials.get().token == "t-1"
    assert len(plugin.runs) == 1


@pytest.mark.parametrize(
    ("lifetime", "used"),
    [
        pytest.param(3600, 3569, id="until half a minute before the expiration"),
        pytest.param(60, 53, id="for nine tenths of a short lifetime"),
    ],
)
def test_the_command_runs_again_before_the_credential_expires(
    plugin: Plugin, lifetime: int, used: int
) -> None:
    clock = Clock()
    credentials = ExecCredentials(plugin.spec, clock=clock)
    expires = (NOON + timedelta(seconds=lifetime)).isoformat()
    plugin.prints({"token": "t-NUMBER", "expirationTimestamp": expires.replace("+00:00", "Z")})
    assert credentials.get().token == "t-1"
    clock.advance(seconds=used)
    assert credentials.get().token == "t-1"
    clock.advance(seconds=2)
    assert credentials.current() is None
    assert credentials.get().token == "t-2"


def test_a_credential_that_has_expired_already_is_used_once(plugin: Plugin) -> None:
    credentials = ExecCredentials(plugin.spec, clock=Clock())
    plugin.prints({"token": "t-NUMBER", "expirationTimestamp": "2026-01-02T11:00:00.5Z"})
    assert [credentials.get().token for _ in range(2)] == ["t-1", "t-2"]


def test_only_the_rejected_credential_is_discarded(plugin: Plugin) -> None:
    credentials = ExecCredentials(plugin.spec)
    credentials.get()
    credentials.discard(Presented(bearer("other"), None))
    assert credentials.get().token == "t-1"
    # The certificate is not the command's, so it does not matter.
    credentials.discard(Presented(bearer("t-1"), KeyPair(b"c", b"k")))
    assert credentials.get().token == "t-2"


def test_a_certificate(plugin: Plugin) -> None:
    credentials = ExecCredentials(plugin.spec)
    assert credentials.pair() is None
    plugin.prints({"clientCertificateData": "c-NUMBER", "clientKeyData": "k-NUMBER"})
    assert credentials.get().token is None
    first = credentials.pair()
    assert first == KeyPair(b"c-1", b"k-1")
    credentials.discard(Presented((), None))
    assert credentials.get().pair == first
    credentials.discard(Presented((), first))
    assert credentials.get().pair == credentials.pair() == KeyPair(b"c-2", b"k-2")
    assert "k-1" not in repr(first)


def test_threads_share_a_run(plugin: Plugin) -> None:
    credentials = ExecCredentials(plugin.spec)
    barrier = threading.Barrier(4)

    def get() -> str | None:
        barrier.wait(10)
        return credentials.get().token

    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(get) for _ in range(4)]
        assert [each.result(10) for each in calls] == ["t-1"] * 4
    assert len(plugin.runs) == 1


def test_the_command_receives_the_protocol(
    plugin: Plugin, capfd: pytest.CaptureFixture[str]
) -> None:
    cluster = {"server": "https://prod"}
    spec = replace(plugin.spec, args=["get", "token"], cluster=cluster, api_version=V1BETA1)
    plugin.prints({"token": "t-1"}, version=V1BETA1)
    assert ExecCredentials(spec).get().token == "t-1"
    (run,) = plugin.runs
    info = {
        "apiVersion": V1BETA1,
        "kind": "ExecCredential",
        "spec": {"cluster": cluster, "interactive": False},
    }
    assert run == [["get", "token"], info, ""]
    assert capfd.readouterr().err == "a hint for the user\n"


def test_the_environment_is_that_of_the_process_and_of_the_specification(plugin: Plugin) -> None:
    spec = replace(plugin.spec, env={"CODE": "7"})
    with pytest.raises(Unavailable, match="failed with exit code 7"):
        ExecCredentials(spec).get()


def test_a_failed_command_runs_again(plugin: Plugin) -> None:
    credentials = ExecCredentials(plugin.spec)
    plugin.prints_text("s3cret")
    with pytest.raises(Unavailable, match="did not print a valid ExecCredential"):
        credentials.get()
    plugin.prints({"token": "t-NUMBER"})
    assert credentials.get().token == "t-2"


@pytest.mark.parametrize(
    ("prints", "error"),
    [
        (lambda plugin: plugin.prints({}), "neither a token nor a client certificate"),
        (lambda plugin: plugin.prints(None), "neither a token nor a client certificate"),
        (lambda plugin: plugin.prints({"token": "s3cret"}, V1BETA1), f"another version than {V1}"),
        (lambda plugin: plugin.prints({"token": "s3cret"}, V1, "Secret"), "another version than"),
        (lambda plugin: plugin.prints({"token": "s3cret\n"}), "a valid ExecCredential"),
        (lambda plugin: plugin.prints({"token": 7}), "a valid ExecCredential"),
        (lambda plugin: plugin.prints({"clientKeyData": "s3cret"}), "a valid ExecCredential"),
        (
            lambda plugin: plugin.prints({"token": "s3cret", "expirationTimestamp": "soon"}),
            "a valid ExecCredential",
        ),
        (
            lambda plugin: plugin.prints(
                {"token": "s3cret", "expirationTimestamp": "2026-01-02T12:00:00"}
            ),
            "a valid ExecCredential",
        ),
        (lambda plugin: plugin.prints_text("[]"), "a valid ExecCredential"),
        (lambda plugin: plugin.prints_text(""), "a valid ExecCredential"),
    ],
)
def test_an_invalid_output_is_an_error_without_it(
    plugin: Plugin, prints: Callable[[Plugin], None], error: str
) -> None:
    prints(plugin)
    with pytest.raises(Unavailable, match=error) as caught:
        ExecCredentials(plugin.spec).get()
    assert str(caught.value).startswith(f'user ann: the command "{plugin.path}" ')
    assert "s3cret" not in str(caught.value)


def test_a_certificate_needs_tls(plugin: Plugin) -> None:
    plugin.prints({"clientCertificateData": "c", "clientKeyData": "k"})
    with pytest.raises(Unavailable, match="client certificate only, which needs https://"):
        ExecCredentials(plugin.spec, tls=False).get()


def test_a_missing_command_is_reported_with_its_hint(plugin: Plugin) -> None:
    hint = "install it with \x1b[31mbrew\x1b[0m\x07"
    spec = replace(plugin.spec, command="no-such-login", install_hint=hint)
    with pytest.raises(ConfigurationError) as caught:
        ExecCredentials(spec)
    assert str(caught.value) == (
        'user ann: the command "no-such-login" does not exist or is not executable\n'
        "install it with brew"
    )


def test_a_command_that_disappears_is_an_error(plugin: Plugin) -> None:
    credentials = ExecCredentials(plugin.spec)
    plugin.path.unlink()
    with pytest.raises(Unavailable, match="does not exist"):
        credentials.get()


def test_a_command_without_a_terminal_cannot_be_interactive(plugin: Plugin) -> None:
    spec = replace(plugin.spec, interactive_mode="Always")
    with pytest.raises(Unavailable, match="needs a terminal"):
        ExecCredentials(spec).get()
    assert ExecCredentials(replace(spec, interactive_mode="IfAvailable")).get().token == "t-1"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"api_version": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1' of exec is not"),
        ({"interactive_mode": "Sometimes"}, "interactiveMode must be Never, IfAvailable, Always"),
    ],
)
def test_an_invalid_specification_is_an_error(
    plugin: Plugin, changes: dict[str, Any], error: str
) -> None:
    with pytest.raises(ConfigurationError, match=error):
        ExecCredentials(replace(plugin.spec, **changes))


def hang(plugin: Plugin) -> None:
    """Let the command start a child that never ends, after it has written a file."""
    begun = plugin.path.with_name("begun")
    plugin.path.write_text(f"#!/bin/sh\necho > {begun}\nsleep 3600\n")


def test_a_command_that_hangs_is_ended(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._exec_credentials.EXEC_SECONDS", 0.01)
    hang(plugin)
    with pytest.raises(Unavailable, match=r"did not end within 0\.01 seconds"):
        ExecCredentials(plugin.spec).get()


def test_a_command_may_take_longer_than_a_call_waits(plugin: Plugin) -> None:
    output = plugin.path.with_name("output").read_text()
    plugin.path.with_name("output").unlink()
    os.mkfifo(plugin.path.with_name("output"))  # which the command waits for
    credentials = ExecCredentials(plugin.spec)
    for _ in range(2):
        with pytest.raises(DeadlineExceeded, match=r"did not end within 0\.01 seconds"):
            credentials.get(0.01)
    plugin.prints_text(output)
    assert credentials.get(10).token == "t-1"
    assert len(plugin.runs) == 1


def test_closing_ends_the_command(plugin: Plugin) -> None:
    hang(plugin)
    credentials = ExecCredentials(plugin.spec)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(credentials.get)
        while not plugin.path.with_name("begun").exists():
            threading.Event().wait(0.001)
        credentials.close()
        with pytest.raises(Cancelled, match="the client is closed"):
            call.result(10)
    with pytest.raises(Cancelled, match="the client is closed"):
        credentials.get()
