"""Writes that only a leader may make."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

_fence: ContextVar[Callable[[], None] | None] = ContextVar("kubeconnect fence", default=None)


def set_fence(check: Callable[[], None]) -> None:
    """Call a function before each write of this thread or task, which raises if the write may not
    be made. This includes the tasks that the task starts, and the threads that the client starts
    for the thread.
    """
    _fence.set(check)


def check_fence() -> None:
    """Raise the error of the function of ``set_fence``, if there is one."""
    check = _fence.get()
    if check is not None:
        check()
