"""A program that calls with the credentials of a kubeconfig.

python kubeconfig.py threads|asyncio identify|follow|fail ADDRESS CA_FILE NAMESPACE

The kubeconfig and its context are those of KUBECONFIG and KUBECONNECT_CONTEXT. CA_FILE may be
empty. It prints each step as a line of JSON.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from time import monotonic

from follow import Copy, printing_losses
from steps import report

import kubeconnect
from kubeconnect import Client, KubeconnectError
from kubeconnect.aio import AsyncClient

PAUSE_SECONDS = 0.1
"""The time between two calls of a program that follows."""

FAIL_SECONDS = 5
"""The timeout of a call that fails."""


def by_threads(step: str, client: Client, namespace: str) -> None:
    """Make a step with threads."""
    with client:
        if step == "identify":
            report("identified", name=client.who_am_i().username)
        elif step == "fail":
            fail(client)
        else:
            follow(client, namespace)


def fail(client: Client) -> None:
    """Make a call that fails."""
    begin = monotonic()
    try:
        client.who_am_i(timeout=FAIL_SECONDS)
    except KubeconnectError as error:
        failed(error, begin)


def follow(client: Client, namespace: str) -> None:
    """Follow the ConfigMaps, and list them all the time."""
    ended = threading.Event()

    def lists() -> None:
        calls = 0
        while not ended.wait(PAUSE_SECONDS):
            try:
                client.list("configmaps", namespace=namespace)
            except KubeconnectError as error:
                failed(error)
            calls += 1
        report("listed", calls=calls)

    calling, copy = threading.Thread(target=lists), Copy()
    calling.start()
    with client.watch(
        "configmaps", namespace=namespace, on_retry=printing_losses(lambda: events)
    ) as events:
        for event in events:
            if copy.apply(event, events):
                break
    ended.set()
    calling.join()


async def by_asyncio(step: str, client: AsyncClient, namespace: str) -> None:
    """Make a step with asyncio."""
    async with client:
        if step == "identify":
            report("identified", name=(await client.who_am_i()).username)
        elif step == "fail":
            await fail_async(client)
        else:
            await follow_async(client, namespace)


async def fail_async(client: AsyncClient) -> None:
    """Make a call that fails."""
    begin = monotonic()
    try:
        await client.who_am_i(timeout=FAIL_SECONDS)
    except KubeconnectError as error:
        failed(error, begin)


async def follow_async(client: AsyncClient, namespace: str) -> None:
    """Follow the ConfigMaps, and list them all the time."""
    ended = False

    async def lists() -> None:
        calls = 0
        while not ended:
            try:
                await client.list("configmaps", namespace=namespace)
            except KubeconnectError as error:
                failed(error)
            calls += 1
            await asyncio.sleep(PAUSE_SECONDS)
        report("listed", calls=calls)

    calling, copy = asyncio.create_task(lists()), Copy()
    async with client.watch(
        "configmaps", namespace=namespace, on_retry=printing_losses(lambda: events)
    ) as events:
        async for event in events:
            if copy.apply(event, events):
                break
    ended = True
    await calling


def failed(error: KubeconnectError, begin: float | None = None) -> None:
    """Print the error of a call."""
    seconds = None if begin is None else round(monotonic() - begin, 1)
    report("failed", kind=type(error).__name__, message=error.message, seconds=seconds)


async def main_async(step: str, address: str, ca_file: str | None, namespace: str) -> None:
    """Make a step with asyncio."""
    await by_asyncio(step, kubeconnect.aio.connect(address, ca_file=ca_file), namespace)


if __name__ == "__main__":
    way, step, address, ca_file, namespace = sys.argv[1:]
    try:
        if way == "threads":
            client = kubeconnect.connect(address, ca_file=ca_file or None)
            by_threads(step, client, namespace)
        else:
            asyncio.run(main_async(step, address, ca_file or None, namespace))
    except kubeconnect.ConfigurationError as error:
        report("invalid", message=str(error))
