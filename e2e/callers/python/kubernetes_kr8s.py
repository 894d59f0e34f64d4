"""A program for Kubernetes' own API that uses kr8s.

python kubernetes_kr8s.py KUBECONFIG NAMESPACE GROUP

It prints each step as a line of JSON.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import kr8s.asyncio
from kr8s.asyncio.objects import ConfigMap, Pod
from steps import report


async def main(kubeconfig: str, namespace: str, group: str) -> None:
    """Make all steps."""
    api = await kr8s.asyncio.api(kubeconfig=kubeconfig, namespace=namespace)
    await read(api)
    await watch_objects(api)
    await fail(api)
    await use_custom_objects(api, group)
    await use_containers(api)


async def names_of(api: Any, *resource: str, **selection: Any) -> list[str]:
    """Return the names of listed objects, in order."""
    return [each.name async for each in api.get(*resource, **selection)]


async def read(api: Any) -> None:
    """List objects, also by labels, and get one."""
    report("listed", names=await names_of(api, "configmaps"))
    report("selected", names=await names_of(api, "configmaps", label_selector="app=web"))
    one = await ConfigMap.get("one", namespace=api.namespace, api=api)
    report("got", data=one.data.to_dict())


def config_map(api: Any, name: str, value: str) -> Any:
    """Return a ConfigMap."""
    return ConfigMap(
        {"metadata": {"name": name, "namespace": api.namespace}, "data": {"a": value}}, api=api
    )


async def watch_objects(api: Any) -> None:
    """Change an object that is watched."""
    early = await config_map(api, "early", "1")
    events = []
    async for event, each in api.watch("configmaps"):
        events.append(f"{event} {each.name}")
        if events[-1] == "ADDED two":  # the last one of those before
            await early.create()
        elif events[-1] == "ADDED early":
            await early.patch({"data": {"a": "2"}})
        elif event == "MODIFIED":
            await early.delete()
        elif event == "DELETED":
            break
    report("watched", events=sorted(events[:4]) + events[4:])


async def fail(api: Any) -> None:
    """Make calls that fail."""
    one = await ConfigMap.get("one", namespace=api.namespace, api=api)
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "forbidden": lambda: names_of(api, "secrets"),
        "conflict": lambda: one.patch({"metadata": {"resourceVersion": "1"}}),
        "exists": lambda: one.create(),
    }
    try:
        await ConfigMap.get("nobody", namespace=api.namespace, api=api, timeout=0)
    except kr8s.NotFoundError:
        report("missing")
    for name, call in calls.items():
        try:
            await call()
        except kr8s.ServerError as error:
            response = error.response
            assert response is not None
            report(name, code=response.status_code, reason=response.json()["reason"])


async def use_custom_objects(api: Any, group: str) -> None:
    """Create a custom object, change it and wait until it is deleted."""
    gadgets = kr8s.asyncio.objects.new_class(
        kind="Gadget", version=f"{group}/v1", namespaced=True, plural="gadgets"
    )
    named = {"metadata": {"name": "mine", "namespace": api.namespace}, "spec": {"color": "red"}}
    mine = await gadgets(named, api=api)
    await mine.create()
    await mine.patch({"spec": {"color": "blue"}})
    names = await names_of(api, f"gadgets.v1.{group}")
    report("custom", spec=mine.spec.to_dict(), names=names)
    await mine.delete()
    await mine.wait("delete")
    report("deleted", names=await names_of(api, f"gadgets.v1.{group}"))


def free_port() -> int:
    """Return a port that is free, because kr8s chooses any."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


async def use_containers(api: Any) -> None:
    """Run commands in a container, read its log, and connect to a port."""
    pod = await Pod.get("one", namespace=api.namespace, api=api)
    plain = await pod.exec(["echo", "hello"])
    failed = await pod.exec(["sh", "-c", "exit 3"], check=False)
    report("executed", text=plain.stdout.decode(), codes=[plain.returncode, failed.returncode])
    report("log", text="\n".join([line async for line in pod.logs()]))
    async with (
        pod.portforward(remote_port=8080, local_port=free_port()) as port,
        httpx.AsyncClient() as http,
    ):
        response = await http.get(f"http://127.0.0.1:{port}/")
    report("forwarded", text=response.text)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
