"""Waiting and workers for threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic


class Monitor(threading.Condition):
    """A state that threads change, and whose changes threads wait for.

    ``with monitor:`` guards the state. All waiting threads are woken together: a thread that
    is interrupted at that moment takes no wake-up from another one.
    """

    def __init__(self) -> None:
        """Begin unlocked."""
        super().__init__(threading.Lock())


class Workers:
    """Functions that run in threads of their own."""

    def __init__(self) -> None:
        """Begin without threads."""
        self._threads: list[threading.Thread] = []

    def start(self, name: str, function: Callable[[], None]) -> None:
        """Run a function, which must not raise, in a thread with this name.

        The thread is a daemon, so that a function that does not return does not keep the
        program from ending.
        """
        self._threads = [each for each in self._threads if each.is_alive()]
        thread = threading.Thread(target=function, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    @property
    def running(self) -> int:
        """The number of functions that have not returned."""
        return sum(thread.is_alive() for thread in self._threads)

    def join(self, timeout: float | None = None) -> None:
        """Wait until all functions have returned, for at most ``timeout`` seconds."""
        end = None if timeout is None else monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(None if end is None else max(end - monotonic(), 0.0))
