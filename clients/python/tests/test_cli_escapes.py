"""Tests of texts that control a terminal, in names, cells, errors and logs: others write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
import yaml

from kubeconnect import Resource
from kubeconnect._cli._failures import warn
from kubeconnect._cli._objects import as_json, as_yaml, object_name
from kubeconnect._cli._tables import cell_text
from kubeconnect._cli._terminal import log_line, shown_lines, visible
from tests.cli_service import CliService, complete, on_terminal, run, running_pod, serve_cli
from tests.fake import Failure, pod

ATTACK = "\x1b]0;title\x07\x1b[2Jerror\x9b31m\u202e\x7f"
CONTROL = set("\x1b\x07\x9b\u202e\x7f\r\b")
ROLE = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", False)


@pytest.fixture
def service() -> Iterator[CliService]:
    with serve_cli() as service:
        service.objects = [running_pod("web-0")]
        yield service


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setattr("kubeconnect._cli._terminal.is_terminal", lambda stream: True)


def pod_with(value: str) -> Any:
    return pod("web-0", namespace="default", spec={"text": value})


def test_cells_are_escaped_in_a_pipe(service: CliService) -> None:
    service.statuses = {"web-0": ATTACK}
    assert not CONTROL & set(run(service, "get", "pods").stdout)
    service.objects = [pod_with(ATTACK)]
    result = run(service, "get", "pods", "-o", "custom-columns=TEXT:.spec.text")
    assert not CONTROL & set(result.stdout)


def test_cells_are_escaped_on_a_terminal_and_are_no_markup(service: CliService) -> None:
    service.statuses = {"web-0": "[red]Running[/red] :smile: " + ATTACK}
    printed = on_terminal(service, "get", "pods")
    assert "[red]Running[/red] :smile: \\x1b]0;title\\x07\\x1b[2Jerror\\x9b31m\\u202e" in printed


@pytest.mark.parametrize("write", [as_json, as_yaml])
@pytest.mark.parametrize(
    "text", [ATTACK, ATTACK + "\nsecond\tline\n", "Grüße\x9b", "\U000e0001", "a\u2028b"]
)
def test_objects_are_escaped_and_decoded_to_the_same(
    write: Callable[[Any], str], text: str
) -> None:
    value = {"text": text, "plain": "Grüße"}
    written = write(value)
    assert not CONTROL & set(written)
    assert written.replace("\n", "").isprintable()
    assert (json.loads if write is as_json else yaml.safe_load)(written) == value


def test_a_surrogate_is_escaped() -> None:
    assert as_json({"text": "\ud800"}) == r'{"text":"\ud800"}'


@pytest.mark.parametrize("write", [as_json, as_yaml])
def test_other_characters_of_objects_are_not_escaped(write: Callable[[Any], str]) -> None:
    assert "Grüße 日本" in write({"text": "Grüße 日本"})


def test_names_are_escaped_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    # The names of roles may have any character but "/" and "%".
    expected = "clusterrole.rbac.authorization.k8s.io/"
    assert object_name(ROLE, "\x1b[2J") == expected + "\x1b[2J"
    monkeypatch.setattr("kubeconnect._cli._terminal.is_terminal", lambda stream: True)
    assert object_name(ROLE, "\x1b[2J") == expected + "\\x1b[2J"


def test_errors_are_escaped(service: CliService) -> None:
    service.failure = Failure(grpc.StatusCode.INVALID_ARGUMENT, "line 1\n\t^\x1b[2J")
    result = run(service, "who-am-i")
    assert result.stderr == "error: line 1\n\t^\\x1b[2J\n"


def test_a_warning_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    warn(["careful\x1b[2J\nerror: forged"])
    assert capsys.readouterr().err == "warning: careful\\x1b[2J\\nerror: forged\n"


def test_logs_are_unchanged_in_a_pipe(service: CliService) -> None:
    service.logs = {"web-0": [b"\x1b[31mred\r\n\x1b[2J\n"]}
    assert run(service, "logs", "web-0").stdout_bytes == b"\x1b[31mred\r\n\x1b[2J\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("plain\ttext", "plain\ttext"),
        ("\x1b[1;31mred\x1b[0m text", "\x1b[1;31mred\x1b[0m text\x1b[0m"),
        ("\x1b[31mred", "\x1b[31mred\x1b[0m"),
        ("of Windows\r", "of Windows"),
        ("10%\r20%", "10%\\r20%"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("\x1b[31m\x1b[2Jred", "\x1b[31m\\x1b[2Jred\x1b[0m"),
        ("\x9b2J", "\\x9b2J"),
    ],
)
@pytest.mark.usefixtures("terminal")
def test_a_terminal_gets_the_colors_of_logs_only(line: str, expected: str) -> None:
    assert log_line(line) == expected


@pytest.mark.usefixtures("terminal")
def test_without_colors_the_colors_of_logs_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert log_line("\x1b[31mred\x1b[2J") == "red\\x1b[2J"


@pytest.mark.usefixtures("terminal")
def test_types_are_escaped_on_a_terminal() -> None:
    assert shown_lines("class A:\n\tpass\x1b[2J\n") == "class A:\n\tpass\\x1b[2J\n"
    assert visible("a\nb\tc\x1b") == "a\nb\tc\\x1b"


def test_cells_of_lists_are_escaped() -> None:
    assert cell_text([ATTACK]).isprintable()


def test_words_that_a_shell_would_run_are_not_offered(service: CliService) -> None:
    service.objects = [pod(name) for name in ("$(reboot)", "a;b", "a b", "\x1b[2J", "system:node")]
    assert complete(service, "get pods ") == ["system:node"]
