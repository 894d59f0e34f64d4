"""Tests of the command line as a process: signals, pipes, terminals and imports."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeconnect.v1 import object_pb2, watch_pb2
from tests.cli_service import COMMAND, CliService, environment, on_terminal, running_pod, serve_cli
from tests.fake import Silence, event, pod

RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")


@pytest.fixture
def service() -> Iterator[CliService]:
    with serve_cli() as service:
        service.objects = [pod("web-0", namespace="default"), pod("web-1", namespace="default")]
        yield service


def start(service: CliService, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment(service),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def interrupt(process: subprocess.Popen[str]) -> None:
    """End a process as Ctrl-C does, and check how it ends."""
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    assert (output, errors.strip(), process.returncode) == ("", "", 130)


def added(name: str) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_ADDED, running_pod(name), "7")


def test_ctrl_c_ends_a_watch(service: CliService) -> None:
    service.play([RESET, added("web-0"), SYNCED], Silence())
    with start(service, "watch", "pods", "-o", "name") as process:
        assert lines(process, 1) == ["ADDED    pod/web-0\n"]
        interrupt(process)


def test_ctrl_c_ends_a_call(service: CliService) -> None:
    service.stuck = True
    with start(service, "count", "nodes") as process:
        assert service.begun.wait(60)
        interrupt(process)


def test_the_logs_of_all_pods_are_followed(service: CliService) -> None:
    time = b"2026-01-02T03:04:05Z"
    service.logs = {"one": [time + b" a\n"], "later": [time + b" b\n"]}
    waits = event(watch_pb2.EVENT_TYPE_ADDED, waiting_pod(), "7")
    service.play([RESET, added("one"), waits, SYNCED])
    with start(service, "logs", "-f", "-l", "app=web") as process:
        assert lines(process, 1) == ["[pod/one/main] a\n"]
        service.play([added("later")], Silence())
        assert lines(process, 1) == ["[pod/later/main] b\n"]
        interrupt(process)
    followed = [each for each in service.requests if getattr(each, "follow", False)]
    assert [(each.name, each.HasField("tail_lines")) for each in followed] == [
        ("one", True),
        ("later", False),
    ]


def waiting_pod() -> object_pb2.Object:
    statuses = [{"name": "main", "state": {"waiting": {}}}]
    return pod(
        "waits",
        namespace="default",
        spec={"containers": [{"name": "main"}]},
        status={"containerStatuses": statuses},
    )


def test_logs_beyond_the_limit_wait(service: CliService) -> None:
    service.logs = {name: [f"2026-01-02T03:04:05Z {name}\n".encode()] for name in ("a", "b", "c")}
    service.play([RESET, added("a"), added("b"), added("c"), SYNCED], Silence())
    with start(service, "logs", "-f", "-l", "app=web", "--max-log-requests", "1") as process:
        assert sorted(lines(process, 3)) == [f"[pod/{name}/main] {name}\n" for name in "abc"]
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 130


def test_a_closed_pipe_ends_the_output_quietly(service: CliService) -> None:
    service.objects = [pod(f"web-{i}", namespace="default", data="x" * 1000) for i in range(1000)]
    with start(service, "get", "pods", "-o", "yaml") as process:
        assert lines(process, 1) == ["apiVersion: v1\n"]
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


@pytest.mark.parametrize("arguments", [["--help"], ["version"], ["completion", "bash"]])
def test_a_pipe_that_is_closed_at_once(service: CliService, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [*COMMAND, *arguments], env=environment(service), stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert process.stderr == b""
    assert process.returncode == (1 if arguments == ["--help"] else 141)  # click prints the help


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["get", "pods"]])
def test_a_full_disk_is_an_error_of_one_line(service: CliService, arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [*COMMAND, *arguments], env=environment(service), stdout=full, stderr=subprocess.PIPE
        )
    assert process.stderr == b"error: [Errno 28] No space left on device\n"
    assert process.returncode == 1


def test_characters_that_the_encoding_does_not_have_are_escaped(service: CliService) -> None:
    service.statuses = {"web-0": "Grüße 日本"}
    process = subprocess.run(
        [*COMMAND, "get", "pods"],
        env=environment(service, PYTHONIOENCODING="latin-1"),
        capture_output=True,
    )
    assert "Grüße \\u65e5\\u672c".encode("latin-1") in process.stdout


ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
TABLE = "NAME    STATUS\nweb-0   Running\nweb-1   Pending\n"


def test_a_terminal_has_colors(service: CliService) -> None:
    service.statuses = {"web-1": "Pending"}
    printed = on_terminal(service, "get", "pods")
    assert "\x1b[32mRunning" in printed
    assert "\x1b[33mPending" in printed
    plain = [line.rstrip() for line in ESCAPE.sub("", printed).splitlines()]
    assert plain == TABLE.splitlines()
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert on_terminal(service, "get", "pods", **variables) == TABLE


def test_a_wide_table_is_not_shortened_on_a_narrow_terminal(service: CliService) -> None:
    service.statuses = {"web-0": "status " * 30}
    assert "status " * 29 + "status" in ESCAPE.sub("", on_terminal(service, "get", "pods"))


def python(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )


def test_without_click_the_command_names_what_to_install() -> None:
    program = "import sys; sys.modules['click'] = None; from kubeconnect._cli import main; "
    result = python(program + "sys.exit(main(['get', 'pods']))")
    assert result.returncode == 1
    assert result.stderr == (
        "error: the command line needs click: pip install 'kubeconnect[cli]'\n"
    )


def test_without_rich_and_yaml_tables_are_plain(service: CliService) -> None:
    program = "import sys; sys.modules['rich'] = sys.modules['yaml'] = None; "
    program += "from kubeconnect._cli import main; sys.exit(main(sys.argv[1:]))"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env=environment(service),
            capture_output=True,
            text=True,
        )

    assert run("get", "pods").stdout == TABLE.replace("Pending", "Running")
    result = run("get", "pods", "-o", "yaml")
    assert result.stderr == "error: -o yaml needs PyYAML: pip install 'kubeconnect[cli]'\n"
    assert result.returncode == 1


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import kubeconnect, kubeconnect.aio", "click rich yaml kubeconnect._cli"),
        ("from kubeconnect._cli import main; main(['--help'])", "rich yaml kubeconnect._cli._get"),
        ("from kubeconnect._cli import main; main(['version'])", "rich yaml asyncio.x"),
    ],
)
def test_imports_only_what_it_needs(code: str, forbidden: str) -> None:
    check = (
        f"import sys; found = set({forbidden.split()}) & set(sys.modules); assert not found, found"
    )
    result = python(f"{code}; {check}")
    assert result.returncode == 0, result.stderr


def complete(service: CliService, words: str, **variables: str) -> list[str]:
    """Return what bash offers for the last of some words, and check that stderr is empty."""
    line = f"kubeconnect {words}"
    variables = {
        "_KUBECONNECT_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        **variables,
    }
    result = subprocess.run(
        COMMAND, env=environment(service, **variables), capture_output=True, text=True
    )
    assert result.stderr == ""
    return [each.removeprefix("plain,") for each in result.stdout.split()]


def test_bash_completes_words(service: CliService) -> None:
    assert complete(service, "get pods w") == ["web-0", "web-1"]


def test_a_completion_never_fails(service: CliService, tmp_path: Path) -> None:
    assert complete(service, "get po", KUBECONNECT_ADDRESS="http://127.0.0.1:1") == []
    assert complete(service, "get po", KUBECONNECT_ADDRESS="ftp://x") == []
    (tmp_path / "kubeconnect.toml").write_text("[[")
    assert complete(service, "get po", KUBECONNECT_ADDRESS="", XDG_CONFIG_HOME=str(tmp_path)) == []
    assert complete(service, "frobnicate po") == []
