"""A clock that tests set."""

from __future__ import annotations

from time import monotonic


class Clock:
    """A time in seconds that only ``advance`` changes."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class MovedClock:
    """The monotonic time, moved forward by ``advance``."""

    def __init__(self) -> None:
        self.moved = 0.0

    def __call__(self) -> float:
        return monotonic() + self.moved

    def advance(self, seconds: float) -> None:
        self.moved += seconds
