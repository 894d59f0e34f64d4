"""Workers for threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

R = TypeVar("R")


def new_guard() -> AbstractContextManager[object]:
    """Return a lock. It is reentrant, because a signal handler may interrupt its holder."""
    return threading.RLock()


class Signal:
    """A wake-up call for one waiting thread. Calls before the wait are not lost."""

    def __init__(self) -> None:
        """Begin without a call."""
        self._event = threading.Event()

    def notify(self) -> None:
        """Wake the thread."""
        self._event.set()

    def wait(self) -> None:
        """Wait for a call since the last wait."""
        self._event.wait()
        self._event.clear()


class Worker:
    """A thread that runs a function. It does not keep the process from ending."""

    def __init__(self, function: Callable[[], object], name: str) -> None:
        """Store the function, which is not running yet."""
        self._thread = threading.Thread(target=function, name=name, daemon=True)

    def start(self) -> None:
        """Run the function."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Wait for the end of the function, which has been asked to return, for at most
        ``timeout`` seconds. Return whether it has ended, or is the caller.
        """
        if self._thread is threading.current_thread():
            return True
        if self._thread.ident is not None:
            self._thread.join(min(timeout, threading.TIMEOUT_MAX))
        return not self._thread.is_alive()


def call(function: Callable[..., object], *arguments: object) -> BaseException | None:
    """Call a function of the user, and return the exception that it raised; None if it did
    not.
    """
    try:
        function(*arguments)
    except BaseException as error:
        return error
    return None


def checkpoint() -> None:
    """Do nothing: threads take turns by themselves."""


def run_blocking(function: Callable[[], R]) -> R:
    """Call a function that blocks."""
    return function()
