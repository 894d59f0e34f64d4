"""Tests of clients whose command for credentials hangs."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kubeconnect import Cancelled, Client, DeadlineExceeded
from kubeconnect.aio import AsyncClient


@pytest.fixture
def hanging(tmp_path: Path) -> Path:
    """Return a kubeconfig whose plugin never ends."""
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\necho >> {tmp_path / 'begun'}\nsleep 3600\n")
    plugin.chmod(0o700)
    version = "client.authentication.k8s.io/v1"
    command = {"apiVersion": version, "command": "./plugin", "interactiveMode": "Never"}
    content = {
        "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"user": "ann"}}],
        "users": [{"name": "ann", "user": {"exec": command}}],
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(content))
    return path


def test_closing_a_client_ends_its_command(hanging: Path) -> None:
    client = Client("127.0.0.1:1", kubeconfig=hanging)
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(client.who_am_i) for _ in range(2)]
        while not hanging.with_name("begun").exists():
            threading.Event().wait(0.001)
        client.close()
        for call in calls:
            with pytest.raises(Cancelled, match="the client is closed"):
                call.result(10)


async def test_a_command_does_not_block_the_event_loop(hanging: Path) -> None:
    async with AsyncClient("127.0.0.1:1", kubeconfig=hanging) as client:
        calls = [asyncio.create_task(client.who_am_i()) for _ in range(2)]
        while not hanging.with_name("begun").exists():
            await asyncio.sleep(0.001)
    for call in calls:
        with pytest.raises(Cancelled, match="the client is closed"):
            await asyncio.wait_for(call, 10)


async def test_a_cancelled_call_does_not_wait_for_the_command(hanging: Path) -> None:
    async with AsyncClient("127.0.0.1:1", kubeconfig=hanging) as client:
        call = asyncio.create_task(client.who_am_i())
        while not hanging.with_name("begun").exists():
            await asyncio.sleep(0.001)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


def test_a_call_waits_for_the_command_until_its_timeout(hanging: Path) -> None:
    with Client("127.0.0.1:1", kubeconfig=hanging) as client:
        for _ in range(2):
            with pytest.raises(DeadlineExceeded, match=r'user "ann".*did not end within'):
                client.who_am_i(timeout=0.01)
        with (
            pytest.raises(DeadlineExceeded),
            client.watch("pods", timeout=0.01) as events,
        ):
            next(events)
        while not hanging.with_name("begun").exists():
            threading.Event().wait(0.001)
    assert hanging.with_name("begun").read_text() == "\n"


async def test_an_async_call_waits_for_the_command_until_its_timeout(hanging: Path) -> None:
    async with AsyncClient("127.0.0.1:1", kubeconfig=hanging) as client:
        for _ in range(2):
            with pytest.raises(DeadlineExceeded, match=r'user "ann".*did not end within'):
                await client.who_am_i(timeout=0.01)
        with pytest.raises(DeadlineExceeded):
            async with client.watch("pods", timeout=0.01) as events:
                await anext(events)
