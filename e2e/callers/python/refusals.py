"""What a program learns when the cluster refuses much at once.

python refusals.py threads|asyncio ADDRESS NAMESPACE

Each refusal is a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import kubeconnect
from kubeconnect import Client, PatchType
from kubeconnect.aio import AsyncClient

BAD_KEYS = {"metadata": {"name": "bad"}, "data": {f"not a key {n}": "" for n in range(300)}}
WRONG_TYPE = {"spec": {"replicas": "three"}}


def by_threads(address: str, namespace: str) -> None:
    """Create what has 300 mistakes, and patch with one that is answered at length."""
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
    """Do the same."""
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
    """Print one line."""
    what: dict[str, Any] = {
        "kind": type(error).__name__,
        "reason": error.reason,
        "message": error.message,
        "causes": len(error.causes),
        "omitted": error.omitted_causes,
    }
    print(json.dumps({"step": step, **what}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "threads":
        by_threads(*sys.argv[2:])
    else:
        asyncio.run(by_asyncio(*sys.argv[2:]))
