"""What a program does with a log: it follows it, by threads or by asyncio.

python logs.py threads|asyncio ADDRESS NAMESPACE POD

Each line, and the log's end, is told as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import kubeconnect
from kubeconnect.aio import AsyncClient


def by_threads(address: str, namespace: str, pod: str) -> None:
    """Follow the log, then ask for one that is not there."""
    with kubeconnect.Client(address) as client:
        with client.logs(pod, namespace=namespace, follow=True) as log:
            for line in log:
                tell("line", text=line)
        tell("ended", size=len(client.logs(pod, namespace=namespace).read()))
        try:
            client.logs("nobody", namespace=namespace).read()
        except kubeconnect.NotFound as error:
            tell("missing", reason=error.reason, message=error.message)


async def by_asyncio(address: str, namespace: str, pod: str) -> None:
    """Do the same."""
    async with AsyncClient(address) as client:
        async with client.logs(pod, namespace=namespace, follow=True) as log:
            async for line in log:
                tell("line", text=line)
        tell("ended", size=len(await client.logs(pod, namespace=namespace).read()))
        try:
            await client.logs("nobody", namespace=namespace).read()
        except kubeconnect.NotFound as error:
            tell("missing", reason=error.reason, message=error.message)


def tell(step: str, **what: Any) -> None:
    """Print one line."""
    print(json.dumps({"step": step, **what}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "threads":
        by_threads(*sys.argv[2:])
    else:
        asyncio.run(by_asyncio(*sys.argv[2:]))
