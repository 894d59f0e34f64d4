"""A program that makes a call without a timeout over a link that loses the response.

python lostcalls.py threads|asyncio patch|dry-run|get ADDRESS DIRECT NAMESPACE

It connects to ADDRESS, waits over DIRECT, another address of the service, until there is a
ConfigMap "begin", and makes the call. It prints each step as a line of JSON.
"""

from __future__ import annotations

import math
from typing import Any

from steps import report, run

import kubeconnect
from kubeconnect import Client, KubeconnectError
from kubeconnect.aio import AsyncClient


def by_threads(call: str, address: str, direct: str, namespace: str) -> None:
    """Make the call with threads."""
    with Client(address, timeout=math.inf) as client, Client(direct) as other:
        client.who_am_i()
        report("connected")
        other.wait_for("configmaps", "begin", lambda _: True, namespace=namespace)
        try:
            if call == "get":
                client.get(**reading(namespace))
            else:
                client.patch(**writing(namespace), dry_run=call == "dry-run")
        except KubeconnectError as error:
            ended(error)
        else:
            ended(None)


async def by_asyncio(call: str, address: str, direct: str, namespace: str) -> None:
    """Make the call with asyncio."""
    async with AsyncClient(address, timeout=math.inf) as client, AsyncClient(direct) as other:
        await client.who_am_i()
        report("connected")
        await other.wait_for("configmaps", "begin", lambda _: True, namespace=namespace)
        try:
            if call == "get":
                await client.get(**reading(namespace))
            else:
                await client.patch(**writing(namespace), dry_run=call == "dry-run")
        except KubeconnectError as error:
            ended(error)
        else:
            ended(None)


def reading(namespace: str) -> dict[str, Any]:
    """Return the arguments of a read that the API server records."""
    target = {"resource": "configmaps", "name": "audited-reads", "namespace": namespace}
    return {**target, "consistency": kubeconnect.Consistency.LATEST}


def writing(namespace: str) -> dict[str, Any]:
    """Return the arguments of a write that the API server records."""
    target = {"resource": "configmaps", "name": "audited", "namespace": namespace}
    return {**target, "body": {"data": {"key": "changed"}}, "type": "merge"}


def ended(error: KubeconnectError | None) -> None:
    """Print how the call ended."""
    kind = type(error).__name__ if error else ""
    report("ended", kind=kind, message=error.message if error else "")


if __name__ == "__main__":
    run(by_threads, by_asyncio)
