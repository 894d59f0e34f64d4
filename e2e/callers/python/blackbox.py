"""A program that checks what callers of the service see.

python blackbox.py threads|asyncio ADDRESS NAMESPACE [SCENARIO ...]

It prints the name of each scenario that begins, and a line of JSON when it has ended, with
the error if there is one. Each scenario has a namespace of its own, whose name begins with
NAMESPACE. For a fault it prints a line of JSON too, and waits until there is a ConfigMap in
NAMESPACE with the name of the fault. The lines of JSON are numbered.

The scenarios are also run against kubeconnect.testing, by the tests of the Python client.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import blackbox_live
import blackbox_reads
import blackbox_watches
import blackbox_writes
from blackbox_asyncio import blocking_client
from blackbox_common import Faults, World, eventually

import kubeconnect
from kubeconnect import Client

Scenario = Callable[[World], None]

SCENARIOS: tuple[Scenario, ...] = (
    *blackbox_reads.SCENARIOS,
    *blackbox_live.SCENARIOS,
    *blackbox_writes.SCENARIOS,
    *blackbox_watches.SCENARIOS,
)
WITH_THREADS: tuple[Scenario, ...] = blackbox_watches.WITH_THREADS


def run(scenario: Scenario, client: Client, namespace: str, faults: Faults) -> None:
    """Run a scenario in a new namespace. Raises AssertionError if it fails."""
    name = f"{namespace}-{scenario.__name__.replace('_', '-')}"[:63].rstrip("-")
    client.create("namespaces", {"metadata": {"name": name}})
    scenario(World(client, name, faults))


class Reports:
    """The lines of JSON that the program prints."""

    def __init__(self) -> None:
        """Begin with the number 1."""
        self._count = 0

    def send(self, kind: str, name: str, **fields: object) -> None:
        """Print a report."""
        self._count += 1
        report = {"step": f"report-{self._count}", "kind": kind, "name": name, **fields}
        print(json.dumps(report), flush=True)


class ReportedFaults:
    """Faults that the process which started this program makes."""

    def __init__(self, reports: Reports, client: Client, namespace: str) -> None:
        """Report the faults."""
        self._reports = reports
        self._client = client
        self._namespace = namespace
        self._count = 0

    def disconnect(self) -> None:
        """Cut all streams."""
        self._make("disconnect")

    def reset(self) -> None:
        """Invalidate all tokens."""
        self._make("reset")

    def _make(self, kind: str) -> None:
        self._count += 1
        name = f"fault-{self._count}"
        self._reports.send(kind, name)
        eventually(lambda: self._exists(name))

    def _exists(self, name: str) -> bool:
        try:
            self._client.get("configmaps", name, namespace=self._namespace, timeout=5)
        except kubeconnect.KubeconnectError:
            return False
        return True


def report_of(scenario: Scenario, client: Client, namespace: str, faults: Faults) -> dict[str, Any]:
    """Run a scenario, and return its duration and its error."""
    error, begin = "", time.monotonic()
    try:
        run(scenario, client, namespace, faults)
    except Exception:
        error = traceback.format_exc()
    return {"seconds": round(time.monotonic() - begin, 1), "error": error}


def main(way: str, address: str, namespace: str, *names: str) -> None:
    """Run all scenarios, or those with the names."""
    scenarios = SCENARIOS if way == "asyncio" else SCENARIOS + WITH_THREADS
    connected = blocking_client(address) if way == "asyncio" else Client(address)
    reports = Reports()
    with connected as client, Client(address) as other:
        faults = ReportedFaults(reports, other, namespace)
        for scenario in scenarios:
            name = scenario.__name__
            if name in names or not names:
                print(name, flush=True)
                reports.send("scenario", name, **report_of(scenario, client, namespace, faults))
    reports.send("done", "")


if __name__ == "__main__":
    main(*sys.argv[1:])
