"""A program that calls within a trace.

python traced.py threads|asyncio ADDRESS TOKEN NAMESPACE TRACEPARENT

It reads the ConfigMap "traced", and the first event of a watch.
"""

from __future__ import annotations

import asyncio
import sys

from opentelemetry import context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from kubeconnect import Client
from kubeconnect.aio import AsyncClient


def by_threads(address: str, token: str, namespace: str) -> None:
    """Call with the client of threads."""
    with Client(address, token=token) as client:
        client.get("configmaps", "traced", namespace=namespace)
        with client.watch("configmaps", namespace=namespace) as events:
            next(iter(events))


async def by_asyncio(address: str, token: str, namespace: str) -> None:
    """Call with the client of asyncio."""
    async with AsyncClient(address, token=token) as client:
        await client.get("configmaps", "traced", namespace=namespace)
        async with client.watch("configmaps", namespace=namespace) as events:
            await anext(aiter(events))


if __name__ == "__main__":
    way, address, token, namespace, traceparent = sys.argv[1:]
    context.attach(TraceContextTextMapPropagator().extract({"traceparent": traceparent}))
    if way == "threads":
        by_threads(address, token, namespace)
    else:
        asyncio.run(by_asyncio(address, token, namespace))
