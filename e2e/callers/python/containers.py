"""A program that connects to the containers of a pod, with threads or with asyncio.

python containers.py threads|asyncio ADDRESS CA_FILE TOKEN_FILE PLAIN_ADDRESS NAMESPACE FOLDER

The folder has files in "source", and the copies are written there. It prints each step as a line of
JSON.
"""

from __future__ import annotations

import asyncio
import filecmp
import os
import socket
from pathlib import Path
from typing import Any

from steps import report, run

from kubeconnect import Client, ContainerSession, CopyError, KubeconnectError, OutputChunk
from kubeconnect.aio import AsyncClient, AsyncContainerSession

ECHO, REFUSED = 7, 8
"""A port that sends back what it receives, and one at which no process listens."""

SCRIPT = ["sh", "-c", "cat; echo error >&2; exit 3"]

INPUT = b"0123456789abcdef" * 20_000

ERRORS: dict[str, dict[str, Any]] = {
    "missing pod": {"pod": "nobody"},
    "missing container": {"container": "none"},
    "missing program": {"command": ["nothing"]},
    "unreachable": {"pod": "lost"},
}
"""Calls that fail."""


def by_threads(
    address: str, ca_file: str, token_file: str, plain: str, namespace: str, folder: str
) -> None:
    """Make all steps with threads."""
    with Client(plain) as client:
        report(
            "plain", text=client.exec("one", ["echo", "hello"], namespace=namespace).stdout.decode()
        )
    with Client(address, ca_file=ca_file, token_file=token_file) as client:
        result = client.exec("one", SCRIPT, namespace=namespace, stdin=INPUT)
        report_result(result.stdout, result.stderr, result.exit_code)
        with client.open_exec("one", ["sh"], namespace=namespace, tty=True) as session:
            use_terminal(session)
        copy(client, namespace, Path(folder))
        with client.attach("one", namespace=namespace, stdin=True) as session:
            session.write(b"typed\n")
            report("attached", **summary(list(session)), code=session.exit_code)
        forward(client, namespace)
        for name, options in ERRORS.items():
            call = {"pod": "one", "command": ["true"], **options}
            try:
                client.exec(**call, namespace=namespace)
            except KubeconnectError as error:
                report(name, **described(error))
        try:
            with client.attach("one", namespace="default") as session:
                session.read()
        except KubeconnectError as error:
            report("forbidden", **described(error))
        try:
            client.exec("one", ["sleep", "infinity"], namespace=namespace, timeout=0.5)
        except KubeconnectError as error:
            report("late", **described(error))
        with client.open_exec("one", ["cat"], namespace=namespace) as session:
            session.write(b"typed")
            session.read()
            client.close()
            try:
                session.read()
            except KubeconnectError as error:
                report("closed", **described(error))


def use_terminal(session: ContainerSession) -> None:
    """Change the size of a terminal, and end its shell."""
    shown = until(session, b"/ # ")
    session.resize(width=132, height=43)
    while b"\n43 132\r\n" not in shown:
        session.write(b"stty size\r")
        shown = until(session, b"/ # ")
    session.write(b"exit 4\r")
    rest = list(session)
    report("terminal", code=session.exit_code, **summary(rest))


def until(session: ContainerSession, prompt: bytes) -> bytes:
    """Return what a terminal shows up to a prompt."""
    shown = b""
    while not shown.endswith(prompt):
        chunk = session.read()
        assert chunk is not None
        shown += chunk.data
    return shown


def copy(client: Client, namespace: str, folder: Path) -> None:
    """Copy a folder and a file to the container and back."""
    client.copy_to(folder / "source", "one", "/tmp/copied", namespace=namespace)
    client.copy_from("one", "/tmp/copied", folder / "back", namespace=namespace)
    client.copy_to(folder / "source/large", "one", "/tmp/-large", namespace=namespace)
    client.copy_from("one", "/tmp/-large", folder / "large", namespace=namespace)
    report_copies(folder)
    try:
        client.copy_from("one", "/tmp/nothing", folder / "none", namespace=namespace)
    except CopyError as error:
        report("not copied", code=error.exit_code, message=error.message)


def forward(client: Client, namespace: str) -> None:
    """Use two connections to a port at the same time, a stream, and a port that refuses."""
    with client.port_forward("one", ECHO, namespace=namespace) as forwarded:
        address = ("127.0.0.1", forwarded.local_port)
        with socket.create_connection(address) as first, socket.create_connection(address) as last:
            echoes = []
            for number in range(3):
                for connection in (last, first):
                    connection.sendall(f"{number}\n".encode())
                for connection in (first, last):
                    echoes.append(connection.makefile("rb", buffering=0).readline().decode())
        report("forwarded", text="".join(echoes), address=forwarded.address)
    with client.open_port("one", ECHO, namespace=namespace) as stream:
        stream.write(INPUT)
        received = b""
        while len(received) < len(INPUT):
            received += stream.read()
        report("streamed", same=received == INPUT)
    try:
        with client.open_port("one", REFUSED, namespace=namespace) as stream:
            stream.read()
    except KubeconnectError as error:
        report("refused", **described(error))
    errors: list[KubeconnectError] = []
    with (
        client.port_forward(
            "one", REFUSED, namespace=namespace, on_error=errors.append
        ) as forwarded,
        socket.create_connection(("127.0.0.1", forwarded.local_port)) as connection,
    ):
        try:
            data = connection.recv(1)
        except ConnectionResetError:
            data = b"reset"
    report("closed connection", text=data.decode(), message=str(*errors))


async def by_asyncio(
    address: str, ca_file: str, token_file: str, plain: str, namespace: str, folder: str
) -> None:
    """Make all steps with asyncio."""
    async with AsyncClient(plain) as client:
        result = await client.exec("one", ["echo", "hello"], namespace=namespace)
        report("plain", text=result.stdout.decode())
    async with AsyncClient(address, ca_file=ca_file, token_file=token_file) as client:
        result = await client.exec("one", SCRIPT, namespace=namespace, stdin=INPUT)
        report_result(result.stdout, result.stderr, result.exit_code)
        async with client.open_exec("one", ["sh"], namespace=namespace, tty=True) as session:
            await use_terminal_async(session)
        await copy_async(client, namespace, Path(folder))
        async with client.attach("one", namespace=namespace, stdin=True) as session:
            await session.write(b"typed\n")
            chunks = [chunk async for chunk in session]
            report("attached", **summary(chunks), code=session.exit_code)
        await forward_async(client, namespace)
        for name, options in ERRORS.items():
            call = {"pod": "one", "command": ["true"], **options}
            try:
                await client.exec(**call, namespace=namespace)
            except KubeconnectError as error:
                report(name, **described(error))
        try:
            async with client.attach("one", namespace="default") as session:
                await session.read()
        except KubeconnectError as error:
            report("forbidden", **described(error))
        try:
            await client.exec("one", ["sleep", "infinity"], namespace=namespace, timeout=0.5)
        except KubeconnectError as error:
            report("late", **described(error))
        async with client.open_exec("one", ["cat"], namespace=namespace) as session:
            await session.write(b"typed")
            await session.read()
            await client.close()
            try:
                await session.read()
            except KubeconnectError as error:
                report("closed", **described(error))


async def use_terminal_async(session: AsyncContainerSession) -> None:
    """Change the size of a terminal, and end its shell."""
    shown = await until_async(session, b"/ # ")
    await session.resize(width=132, height=43)
    while b"\n43 132\r\n" not in shown:
        await session.write(b"stty size\r")
        shown = await until_async(session, b"/ # ")
    await session.write(b"exit 4\r")
    rest = [chunk async for chunk in session]
    report("terminal", code=session.exit_code, **summary(rest))


async def until_async(session: AsyncContainerSession, prompt: bytes) -> bytes:
    """Return what a terminal shows up to a prompt."""
    shown = b""
    while not shown.endswith(prompt):
        chunk = await session.read()
        assert chunk is not None
        shown += chunk.data
    return shown


async def copy_async(client: AsyncClient, namespace: str, folder: Path) -> None:
    """Copy a folder and a file to the container and back."""
    await client.copy_to(folder / "source", "one", "/tmp/copied", namespace=namespace)
    await client.copy_from("one", "/tmp/copied", folder / "back", namespace=namespace)
    await client.copy_to(folder / "source/large", "one", "/tmp/-large", namespace=namespace)
    await client.copy_from("one", "/tmp/-large", folder / "large", namespace=namespace)
    report_copies(folder)
    try:
        await client.copy_from("one", "/tmp/nothing", folder / "none", namespace=namespace)
    except CopyError as error:
        report("not copied", code=error.exit_code, message=error.message)


async def forward_async(client: AsyncClient, namespace: str) -> None:
    """Use two connections to a port at the same time, a stream, and a port that refuses."""
    async with client.port_forward("one", ECHO, namespace=namespace) as forwarded:
        first = await asyncio.open_connection("127.0.0.1", forwarded.local_port)
        last = await asyncio.open_connection("127.0.0.1", forwarded.local_port)
        echoes = []
        for number in range(3):
            for _, writer in (last, first):
                writer.write(f"{number}\n".encode())
            for reader, _ in (first, last):
                echoes.append((await reader.readline()).decode())
        for _, writer in (first, last):
            writer.close()
            await writer.wait_closed()
        report("forwarded", text="".join(echoes), address=forwarded.address)
    async with client.open_port("one", ECHO, namespace=namespace) as stream:
        writing = asyncio.create_task(stream.write(INPUT))
        received = b""
        while len(received) < len(INPUT):
            received += await stream.read()
        await writing
        report("streamed", same=received == INPUT)
    try:
        async with client.open_port("one", REFUSED, namespace=namespace) as stream:
            await stream.read()
    except KubeconnectError as error:
        report("refused", **described(error))
    errors: list[KubeconnectError] = []
    async with client.port_forward(
        "one", REFUSED, namespace=namespace, on_error=errors.append
    ) as forwarded:
        reader, writer = await asyncio.open_connection("127.0.0.1", forwarded.local_port)
        try:
            data = await reader.read(1)
        except ConnectionResetError:
            data = b"reset"
        writer.close()
    report("closed connection", text=data.decode(), message=str(*errors))


def report_result(stdout: bytes, stderr: bytes, code: int) -> None:
    """Report the result of a command that prints its input."""
    report("executed", same=stdout == INPUT, text=stderr.decode(), code=code)


def report_copies(folder: Path) -> None:
    """Report the copies that came back, and whether they are the same."""
    files = sorted(
        str(path.relative_to(folder / "back"))
        for path in (folder / "back").rglob("*")
        if path.is_file()
    )
    _, different, errors = filecmp.cmpfiles(folder / "source", folder / "back", files, False)
    report(
        "copied",
        files=files,
        same=not different
        and not errors
        and filecmp.cmp(folder / "source/large", folder / "large", shallow=False),
        executable=os.access(folder / "back/run.sh", os.X_OK),
    )


def summary(chunks: list[OutputChunk]) -> dict[str, str]:
    """Return the output of each stream."""
    return {
        name: b"".join(chunk.data for chunk in chunks if chunk.stream == name).decode()
        for name in ("stdout", "stderr")
    }


def described(error: KubeconnectError) -> dict[str, Any]:
    """Return the parts of an error."""
    return {
        "kind": type(error).__name__,
        "reason": error.reason,
        "message": error.message,
        "requestID": error.request_id,
    }


if __name__ == "__main__":
    run(by_threads, by_asyncio)
