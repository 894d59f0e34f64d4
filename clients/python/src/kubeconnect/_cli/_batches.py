"""The changes of a watch, all at once that have arrived."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from kubeconnect import Watch
from kubeconnect._cli._changes import Change, ChangeTracker

_T = TypeVar("_T")

_STEP_SECONDS = 0.2
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
            item = _get(arrived)
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


def _get(arrived: queue.Queue[_T]) -> _T:
    """Return the next item. The wait is in steps: a signal that arrives immediately before a step,
    when Python no longer looks for signals, is handled after the step.
    """
    while True:
        with suppress(queue.Empty):
            return arrived.get(timeout=_STEP_SECONDS)


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
