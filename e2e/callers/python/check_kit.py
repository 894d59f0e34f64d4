"""What the programs check_*.py have in common.

python check_….py ADDRESS OTHER NAMESPACE [NAME…]

A check is a function that uses the public API as the documentation describes it. It runs twice:
with the client for threads, in a thread of its own, and with the client for asyncio, in one event
loop. The program prints a line of JSON for each check, and exits with code 1 if one has failed.
OTHER is the address of a service at which a stream of the first one cannot resume. The last
arguments are the names of the checks to run; by default all.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import socket
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import kubeconnect
import kubeconnect.aio

PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.02
SLACK_SECONDS = 10.0  # of what must end at a time, on a busy machine
CHECKS_AT_ONCE = 6

Check = Callable[["Kit"], Awaitable[None]]


async def result_of(value: Any) -> Any:
    """Return the result of a call: that of the client for threads, or the awaited one."""
    return await value if inspect.isawaitable(value) else value


async def until(condition: Any, what: str, seconds: float = PATIENCE_SECONDS) -> Any:
    """Wait until a condition is true, and return its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {seconds:g} s: {what}")
        await asyncio.sleep(LOOK_SECONDS)
    return value


@contextlib.asynccontextmanager
async def entered(manager: Any) -> AsyncIterator[Any]:
    """Enter a context manager of either client."""
    if hasattr(manager, "__aenter__"):
        async with manager as value:
            yield value
    else:
        with manager as value:
            yield value


def equal(got: Any, want: Any, what: str = "") -> None:
    """Raise AssertionError if two values differ."""
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


async def raises(error: type[BaseException], call: Any, what: str = "") -> Any:
    """Return the exception of a call, which must be of this class itself."""
    try:
        value = await result_of(call())
    except BaseException as raised:
        if type(raised) is not error:
            raise AssertionError(f"{what}: {raised!r} in place of {error.__name__}") from raised
        return raised
    raise AssertionError(f"{what}: returned {value!r} in place of {error.__name__}")


class Proxy:
    """Forwards connections to the service, until it is cut or frozen."""

    def __init__(self, *addresses: str) -> None:
        """Listen, and forward to the first address."""
        parts = [urlsplit(address) for address in addresses]
        self._targets = [(each.hostname, each.port or 80) for each in parts]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._passes = threading.Event()
        self._passes.set()
        self._refuses = False
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all connections, and each new one, until ``mend``."""
        self._refuses = True
        self.close_all()

    def close_all(self) -> None:
        """Close all connections, and forward later ones to the next address."""
        self._targets.append(self._targets.pop(0))
        while self._open:
            end = self._open.pop()
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def freeze(self) -> None:
        """Keep all connections, and forward nothing."""
        self._passes.clear()

    def mend(self) -> None:
        """Forward again."""
        self._refuses = False
        self._passes.set()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            if self._refuses:
                near.close()
                continue
            far = socket.create_connection(self._targets[0])
            self._open += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._passes.wait()
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Kit:
    """What a check runs with: a client of one of both ways, and a namespace."""

    def __init__(self, name: str, way: str, address: str, other: str, namespace: str) -> None:
        """Use the client of ``way``; objects of the check have the label check=``name``."""
        self.way, self.address, self.other, self.namespace = way, address, other, namespace
        self.name = f"{name}-{way}".replace("_", "-")
        self.label = f"check={self.name}"
        self.admin: Any = kubeconnect.Client(address)
        self.is_async = way == "asyncio"

    def public(self, name: str) -> Any:
        """Return a class of this way by its name in ``kubeconnect``."""
        return (
            getattr(kubeconnect.aio, "Async" + name)
            if self.is_async
            else getattr(kubeconnect, name)
        )

    def client(self, address: str | None = None, **arguments: Any) -> Any:
        """Return a new client."""
        return self.public("Client")(address or self.address, **arguments)

    def create(self, name: str, data: Mapping[str, str] | None = None, **labels: str) -> Any:
        """Create a ConfigMap, and return it."""
        metadata = {"name": f"{self.name}-{name}", "labels": {"check": self.name, **labels}}
        body = {"metadata": metadata, "data": dict(data or {})}
        return self.admin.create("configmaps", body, namespace=self.namespace).object

    def change(self, name: str, **change: Any) -> Any:
        """Merge a change into a ConfigMap, and return it."""
        return self.admin.patch(
            "configmaps", f"{self.name}-{name}", change, type="merge", namespace=self.namespace
        ).object

    def delete(self, name: str) -> None:
        """Delete a ConfigMap."""
        self.admin.delete("configmaps", f"{self.name}-{name}", namespace=self.namespace)

    def cluster(self, selector: str | None = None) -> dict[str, list[str]]:
        """Return the UID and version of each ConfigMap of the check, from the API server."""
        found = self.admin.list(
            "configmaps",
            namespace=self.namespace,
            label_selector=selector or self.label,
            consistency="latest",
        )
        return {each.name: [each.uid, each.resource_version] for each in found}

    def selection(self, **more: Any) -> dict[str, Any]:
        """Return the arguments that select the ConfigMaps of the check."""
        return {"namespace": self.namespace, "label_selector": self.label, **more}

    def full(self, name: str) -> str:
        """Return the name of an object of the check."""
        return f"{self.name}-{name}"


def content_of(store: Any) -> dict[str, list[str]]:
    """Return the UID and version of each object of a store."""
    return {each.name: [each.uid, each.resource_version] for each in store}


class Recorder:
    """Handlers that record their calls, and fail for a call that cannot follow the earlier ones."""

    def __init__(self) -> None:
        """Begin without calls."""
        self.calls: list[tuple[Any, ...]] = []
        self.known: dict[str, list[str]] = {}
        self.faults: list[str] = []

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``subscribe``."""
        return {"on_add": self.on_add, "on_update": self.on_update, "on_delete": self.on_delete}

    def on_add(self, new: Any) -> None:
        """Record an addition."""
        self.calls.append(("add", new.name, new.uid, new.resource_version))
        if new.name in self.known:
            self.faults.append(f"addition of a known object: {self.calls[-1]}")
        self.known[new.name] = [new.uid, new.resource_version]

    def on_update(self, old: Any, new: Any) -> None:
        """Record an update."""
        self.calls.append(("update", new.name, new.uid, old.resource_version, new.resource_version))
        if self.known.get(old.name) != [old.uid, old.resource_version] or old.uid != new.uid:
            self.faults.append(f"{self.calls[-1]} after {self.known.get(old.name)}")
        if old.resource_version == new.resource_version:
            self.faults.append(f"no change: {self.calls[-1]}")
        self.known[new.name] = [new.uid, new.resource_version]

    def on_delete(self, old: Any) -> None:
        """Record a deletion."""
        self.calls.append(("delete", old.name, old.uid, old.resource_version))
        if self.known.pop(old.name, None) != [old.uid, old.resource_version]:
            self.faults.append(f"deletion of another state: {self.calls[-1]}")

    def kinds(self) -> list[str]:
        """Return the kinds of the calls."""
        return [call[0] for call in self.calls]


async def _run(check: Check, way: str, *where: str) -> bool:
    name = check.__name__
    began = time.monotonic()
    failure = None
    try:
        await asyncio.wait_for(check(Kit(name, way, *where)), 3 * PATIENCE_SECONDS)
    except BaseException:  # the report has it
        failure = traceback.format_exc()
    seconds = round(time.monotonic() - began, 1)
    line = {"check": name, "way": way, "seconds": seconds, "failure": failure}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    return failure is None


async def _run_all(checks: list[Check], way: str, *where: str) -> bool:
    turns = asyncio.Semaphore(CHECKS_AT_ONCE)

    async def run(check: Check) -> bool:
        async with turns:
            return await _run(check, way, *where)

    return all(await asyncio.gather(*map(run, checks)))


def checks_of(module: Mapping[str, Any]) -> Iterator[Check]:
    """Return the checks of a module: its functions check_…."""
    for name, value in module.items():
        if name.startswith("check_") and inspect.iscoroutinefunction(value):
            yield value


def main(module: Mapping[str, Any]) -> None:
    """Run the checks of a program."""
    *where, names = *sys.argv[1:4], sys.argv[4:]
    checks = [each for each in checks_of(module) if not names or each.__name__ in names]

    def by_threads(check: Check) -> bool:
        return asyncio.run(_run(check, "threads", *where))

    with ThreadPoolExecutor(1) as loop, ThreadPoolExecutor(CHECKS_AT_ONCE) as threads:
        by_asyncio = loop.submit(asyncio.run, _run_all(checks, "asyncio", *where))
        passed = [*threads.map(by_threads, checks), by_asyncio.result()]
    sys.exit(0 if all(passed) else 1)
