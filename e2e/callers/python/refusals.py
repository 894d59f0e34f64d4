"""A program that provokes large validation errors.

python refusals.py threads|asyncio ADDRESS NAMESPACE

It prints each error as a line of JSON.
"""

from __future__ import annotations

import json
from typing import Any

from steps import run

import kubeconnect
from kubeconnect import Client, PatchType
from kubeconnect.aio import AsyncClient

BAD_KEYS = {"metadata": {"name": "bad"}, "data": {f"not a key {n}": "" for n in range(300)}}
WRONG_TYPE = {"spec": {"replicas": "three"}}


def by_threads(address: str, namespace: str) -> None:
    """Create an object with 300 invalid fields, and send a patch whose error is long."""
    with Client(address) as client:
        try:
            client.create("configmaps", BAD_KEYS, namespace=namespace)
        except kubeconnect.KubeconnectError as error:
            report("keys", error)
        try:
            client.patch(
                "deployments.apps", "web", WRONG_TYPE, namespace=namespace, type=PatchType.MERGE
            )
        except kubeconnect.KubeconnectError as error:
            report("type", error)


async def by_asyncio(address: str, namespace: str) -> None:
    """Do the same with asyncio."""
    async with AsyncClient(address) as client:
        try:
            await client.create("configmaps", BAD_KEYS, namespace=namespace)
        except kubeconnect.KubeconnectError as error:
            report("keys", error)
        try:
            await client.patch(
                "deployments.apps", "web", WRONG_TYPE, namespace=namespace, type=PatchType.MERGE
            )
        except kubeconnect.KubeconnectError as error:
            report("type", error)


def report(step: str, error: kubeconnect.KubeconnectError) -> None:
    """Print an error as a line of JSON."""
    fields: dict[str, Any] = {
        "kind": type(error).__name__,
        "reason": error.reason,
        "message": error.message,
        "causes": len(error.causes),
        "omitted": error.omitted_cause_count,
    }
    print(json.dumps({"step": step, **fields}), flush=True)


if __name__ == "__main__":
    run(by_threads, by_asyncio)
