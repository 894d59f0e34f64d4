"""A program that checks what callers of the service see.

python blackbox.py threads|asyncio ADDRESS NAMESPACE

It prints a line of JSON for each scenario, with the error if there is one. Each scenario has a
namespace of its own, whose name begins with NAMESPACE. For a fault it prints the line of the fault,
and waits until there is a ConfigMap in NAMESPACE with the name that the line has.

The scenarios are also run against kubeconnect.testing, by the tests of the Python client.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable

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
    *blackbox_writes.SCENARIOS,
    *blackbox_watches.SCENARIOS,
)
WITH_THREADS: tuple[Scenario, ...] = blackbox_watches.WITH_THREADS


def run(scenario: Scenario, client: Client, namespace: str, faults: Faults) -> None:
    """Run a scenario in a new namespace. Raises AssertionError if it fails."""
    name = f"{namespace}-{scenario.__name__.replace('_', '-')}"[:63].rstrip("-")
    client.create("namespaces", {"metadata": {"name": name}})
    scenario(World(client, name, faults))


class ReportedFaults:
    """Faults that the process which started this program makes."""

    def __init__(self, client: Client, namespace: str) -> None:
        """Report to standard output."""
        self._client = client
        self._namespace = namespace
        self._count = 0

    def disconnect(self) -> None:
        """Cut all streams."""
        self._report("disconnect")

    def reset(self) -> None:
        """Invalidate all tokens."""
        self._report("reset")

    def _report(self, step: str) -> None:
        self._count += 1
        done = f"fault-{self._count}"
        print(json.dumps({"step": step, "done": done}), flush=True)
        eventually(lambda: self._exists(done))

    def _exists(self, name: str) -> bool:
        try:
            self._client.get("configmaps", name, namespace=self._namespace, timeout=5)
        except kubeconnect.KubeconnectError:
            return False
        return True


def main(way: str, address: str, namespace: str) -> None:
    """Run all scenarios."""
    scenarios = SCENARIOS if way == "asyncio" else SCENARIOS + WITH_THREADS
    connected = blocking_client(address) if way == "asyncio" else Client(address)
    with connected as client, Client(address) as other:
        faults = ReportedFaults(other, namespace)
        for scenario in scenarios:
            error = ""
            try:
                run(scenario, client, namespace, faults)
            except Exception:
                error = traceback.format_exc()
            report = {"step": "scenario", "name": scenario.__name__, "error": error}
            print(json.dumps(report), flush=True)
    print(json.dumps({"step": "done"}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
