"""A program that makes more calls than the service allows.

python limited.py threads|asyncio ADDRESS NAMESPACE

It prints each step as a line of JSON.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from steps import report, run

from kubeconnect import Client, TooManyRequests
from kubeconnect.aio import AsyncClient

CALLS = 4
"""The number of calls at the same time."""

SHORT_SECONDS = 0.9
"""A timeout that is shorter than each retry delay, which is a number of seconds."""


def by_threads(address: str, namespace: str) -> None:
    """Make the calls with threads."""

    def attempt(**options: Any) -> int:
        try:
            if "body" in options:
                client.patch(**target(namespace), **options)
            else:
                client.get(**target(namespace), **options)
        except TooManyRequests as error:
            return error.retry_after_seconds or 0
        return 0

    with Client(address, timeout=60) as client, ThreadPoolExecutor(CALLS) as threads:
        for step, options in STEPS.items():
            calls = [threads.submit(attempt, **options) for _ in range(CALLS)]
            report(step, delays=[call.result() for call in calls])


async def by_asyncio(address: str, namespace: str) -> None:
    """Make the calls with asyncio."""

    async def attempt(**options: Any) -> int:
        try:
            if "body" in options:
                await client.patch(**target(namespace), **options)
            else:
                await client.get(**target(namespace), **options)
        except TooManyRequests as error:
            return error.retry_after_seconds or 0
        return 0

    async with AsyncClient(address, timeout=60) as client:
        for step, options in STEPS.items():
            calls = [attempt(**options) for _ in range(CALLS)]
            report(step, delays=await asyncio.gather(*calls))


STEPS: dict[str, dict[str, Any]] = {
    "read": {},
    "read at once": {"timeout": SHORT_SECONDS},
    "written": {"body": {"data": {"key": "changed"}}, "type": "merge"},
    "tried": {"body": {"data": {"key": "changed"}}, "type": "merge", "dry_run": True},
}
"""The steps, and the arguments of their calls."""


def target(namespace: str) -> dict[str, Any]:
    """Return the arguments that name the object."""
    return {"resource": "configmaps", "name": "one", "namespace": namespace}


if __name__ == "__main__":
    run(by_threads, by_asyncio)
