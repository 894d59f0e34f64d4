"""Tests that run the programs of the README that connect to containers."""

import io
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.container_server import SUCCESS, ContainerServer, container_server

README = Path(__file__).parents[1] / "README.md"
SECTION = README.read_text().partition("\n## Containers\n")[2].partition("\n## ")[0]
COMMANDS, COPIES = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


def run(program: str, server: ContainerServer, folder: Path) -> str:
    program = program.replace("http://127.0.0.1:8080", server.address)
    command = [sys.executable, "-W", "error", "-c", program]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_runs_commands_and_forwards_a_port(tmp_path: Path) -> None:
    with container_server() as server:
        server.messages = [b"\x01settings.json\n", SUCCESS]
        *lines, last = run(COMMANDS, server, tmp_path).splitlines()
    assert lines == ["0 settings.json", "", "stdout settings.json", "", "exit code 0"]
    assert last.startswith("connect to http://127.0.0.1:")


def test_copies_files(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writer:
        writer.addfile(tarfile.TarInfo("./tmp/settings.json"))
    with container_server() as server:
        server.messages = [b"\x01" + archive.getvalue(), SUCCESS]
        run(COPIES, server, tmp_path)
        paths = [request.path for request in server.requests]
    assert (tmp_path / "copies/settings.json").read_bytes() == b""
    assert ["command=tar&command=-xmf" in path for path in paths] == [True, False]
