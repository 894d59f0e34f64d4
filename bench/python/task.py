"""What the programs of this folder share: their arguments, and the tasks that are measured.

python PROGRAM.py list|watch|store KUBECONFIG ADDRESS CA_FILE NAMESPACE PODS [CHANGES ...]

Each program uses one client. The namespace has PODS pods, and a watch reports after each number of
CHANGES. A program prints lines of JSON, and runs until SIGTERM, so that its memory can be read.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path
from threading import Semaphore
from time import process_time
from typing import Any, NamedTuple, NoReturn, Protocol
from zlib import crc32

CHANGED = "bench.example.com/change"
"""The annotation that the bench changes."""

EMPTY = "empty"
"""A namespace without pods."""

MAX_SECONDS = 600
"""The time after which a program ends itself, in case that the bench was killed."""


class Cluster(NamedTuple):
    """Where the API server and the service are."""

    kubeconfig: str
    address: str
    ca_file: str


class Pod(NamedTuple):
    """What each program reads of a pod."""

    name: str
    change: str
    node: str
    phase: str
    images: list[str]


class Program(Protocol):
    """The tasks of one client."""

    def connect(self, cluster: Cluster) -> Any:
        """Return the client."""

    def list_pods(self, client: Any, namespace: str) -> Iterable[Pod]:
        """Read each pod of a list."""

    def watch_pods(self, client: Any, namespace: str) -> Iterator[Pod]:
        """Read each pod of the first snapshot, and then each changed pod."""


OnPod = Callable[[str], None]
"""A function that a handler calls with the node of a pod."""

StoredPods = Callable[[], Iterable[Pod]]
"""Reads each pod of a store."""

StorePods = Callable[[Any, str, OnPod, OnPod], AbstractContextManager[StoredPods]]
"""Keeps the pods of a namespace, with a handler for added and one for changed pods."""


def run(program: Program, store_pods: StorePods | None = None) -> None:
    """Run the task of the command line."""
    signal.alarm(MAX_SECONDS)
    report(imported=resident_bytes())
    task, kubeconfig, address, ca_file, namespace, pods, *changes = sys.argv[1:]
    client = program.connect(Cluster(kubeconfig, address, ca_file))
    if task == "list":
        measure_list(program, client, namespace)
        signal.pause()
    elif task == "watch":
        measure_watch(program, client, namespace, int(pods), map(int, changes))
        signal.pause()
    elif store_pods is not None:
        measure_store(store_pods, client, namespace, int(pods))


def measure_list(program: Program, client: Any, namespace: str) -> None:
    """Report the CPU time of a list. The connection is opened by a list without pods."""
    sum(1 for _ in program.list_pods(client, EMPTY))
    begin = process_time()
    pods = list(program.list_pods(client, namespace))
    report(cpu=process_time() - begin, **content(pods))


def measure_watch(
    program: Program, client: Any, namespace: str, pods: int, rounds: Iterable[int]
) -> None:
    """Report when all pods were received, and then the CPU time of each round of changes."""
    received = program.watch_pods(client, namespace)
    sum(1 for _ in islice(received, pods))
    report(synced=True)
    for changes in rounds:
        begin = process_time()
        changed = list(islice(received, changes))
        report(cpu=process_time() - begin, **content(changed))


def measure_store(store_pods: StorePods, client: Any, namespace: str, pods: int) -> None:
    """Report when all pods were received, and at the end the handled changes and the content."""
    added, handled = Semaphore(0), Semaphore(0)
    signal.signal(signal.SIGTERM, stop)
    with store_pods(
        client, namespace, lambda node: added.release(), lambda node: handled.release()
    ) as stored:
        for _ in range(pods):
            added.acquire()
        with suppress(Stopped):
            report(synced=True)
            while True:
                signal.pause()
        report(changes=drain(handled), **content(stored()))


class Stopped(Exception):
    """The bench has ended the program."""


def stop(signal_number: int, frame: object) -> NoReturn:
    """Handle SIGTERM in the main thread."""
    raise Stopped


def drain(handled: Semaphore) -> int:
    """Return how often a semaphore was released."""
    count = 0
    while handled.acquire(blocking=False):
        count += 1
    return count


def content(pods: Iterable[Pod]) -> dict[str, int]:
    """Return the number of pods, and a checksum of what was read, whose order does not matter."""
    checksums = [
        crc32(" ".join((pod.name, pod.node, pod.phase, *pod.images)).encode()) for pod in pods
    ]
    return {"count": len(checksums), "checksum": sum(checksums)}


def resident_bytes() -> int:
    """Return the memory of this process; 0 if the operating system does not report it."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


def report(**values: float) -> None:
    """Print a line for the bench."""
    print(json.dumps(values), flush=True)
