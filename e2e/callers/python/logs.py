"""A program that follows a log, with threads or with asyncio.

python logs.py threads|asyncio ADDRESS NAMESPACE POD

It prints each line, and the end of the log, as a line of JSON.
"""

from __future__ import annotations

from steps import report, run

import kubeconnect
from kubeconnect.aio import AsyncClient


def by_threads(address: str, namespace: str, pod: str) -> None:
    """Follow the log, and then request a log that does not exist."""
    with kubeconnect.Client(address) as client:
        with client.logs(pod, namespace=namespace, follow=True) as log:
            for line in log:
                report("line", text=line)
        report("ended", size=len(client.logs(pod, namespace=namespace).read()))
        try:
            client.logs("nobody", namespace=namespace).read()
        except kubeconnect.NotFound as error:
            report("missing", reason=error.reason, message=error.message)


async def by_asyncio(address: str, namespace: str, pod: str) -> None:
    """Do the same with asyncio."""
    async with AsyncClient(address) as client:
        async with client.logs(pod, namespace=namespace, follow=True) as log:
            async for line in log:
                report("line", text=line)
        report("ended", size=len(await client.logs(pod, namespace=namespace).read()))
        try:
            await client.logs("nobody", namespace=namespace).read()
        except kubeconnect.NotFound as error:
            report("missing", reason=error.reason, message=error.message)


if __name__ == "__main__":
    run(by_threads, by_asyncio)
