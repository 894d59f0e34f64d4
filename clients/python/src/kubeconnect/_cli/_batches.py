"""The changes of a watch, all at once that have arrived."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from kubeconnect import Watch
from kubeconnect._cli._changes import Change, ChangeTracker

_MAX_WAITING = 1000
"""How many changes wait to be printed. The service combines those that wait there."""


def batches(watch: Watch) -> Iterator[list[Change]]:
    """Yield the changes of a watch: all that have arrived, whenever there are some. The watch is
    read by a thread of its own.
    """
    arrived: queue.Queue[list[Change] | _End] = queue.Queue(_MAX_WAITING)
    thread = threading.Thread(
        target=_read, args=(watch, arrived), name="kubeconnect watch", daemon=True
    )
    thread.start()
    try:
        while True:
            changes: list[Change] = []
            item = arrived.get()
            while not isinstance(item, _End):
                changes.extend(item)
                try:
                    item = arrived.get_nowait()
                except queue.Empty:
                    break
            if changes:
                yield changes
            if isinstance(item, _End):
                if item.error:
                    raise item.error
                return
    finally:
        watch.close()


@dataclass(frozen=True)
class _End:
    """The end of a watch, which was closed or has failed."""

    error: Exception | None


def _read(watch: Watch, arrived: queue.Queue[list[Change] | _End]) -> None:
    tracker, failure = ChangeTracker(), None
    try:
        for event in watch:
            if changes := tracker.apply(event):
                arrived.put(changes)
    except Exception as error:
        failure = error
    arrived.put(_End(failure))
