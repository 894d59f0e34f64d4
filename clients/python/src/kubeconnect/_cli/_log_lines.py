"""The lines of logs, which are opened again when they are lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from time import sleep

from kubeconnect import Client, Log, Unauthenticated, Unavailable
from kubeconnect._cli._containers import Container, LogOptions, prefix_of
from kubeconnect._cli._failures import note

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z")
_RETRY_SECONDS = 1.0


def read_lines(
    client: Client, container: Container, options: LogOptions, *, follow: bool
) -> Iterator[str]:
    """Yield the lines of a log. A followed log that is lost is opened again after the last line
    that was read, with a warning.
    """
    if not follow:
        yield from _open(client, container, options, timestamps=options.timestamps)
        return
    place = _Place()
    while True:
        try:
            with _open(client, container, options, follow=True, place=place) as log:
                for line in log:
                    time, _, text = line.partition(" ")
                    if place.advance(time):
                        yield line if options.timestamps else text
            return
        except (Unavailable, Unauthenticated) as error:
            if not place.time:
                raise
            if place.note_loss():
                note(f"warning: {prefix_of(container)}{error.message}")
            sleep(_RETRY_SECONDS)


def _open(
    client: Client,
    container: Container,
    options: LogOptions,
    *,
    follow: bool = False,
    timestamps: bool = True,
    place: _Place | None = None,
) -> Log:
    since = place.since if place else None
    return client.logs(
        container.pod,
        namespace=container.namespace,
        container=container.name,
        follow=follow,
        previous=options.previous,
        tail_lines=options.tail if since is None else None,
        since_seconds=options.since if since is None else None,
        since_time=since,
        timestamps=timestamps,
    )


class _Place:
    """The last line that was read of a log, by its time and the number of lines at this time."""

    def __init__(self) -> None:
        self.time = ""
        self._lines = 0
        self._skip: tuple[str, int] | None = None  # what a log that is opened again repeats

    @property
    def since(self) -> datetime | None:
        """The time from which the log is opened, in whole seconds; None for the beginning."""
        return datetime.fromisoformat(self.time[:19] + "+00:00") if self.time else None

    def note_loss(self) -> bool:
        """Note that the log is opened again. Returns False if nothing was read since the last
        time.
        """
        before, self._skip = self._skip, (self.time, self._lines)
        return before is None

    def advance(self, time: str) -> bool:
        """Note a line, and return whether it was not read before."""
        time = _sortable(time)
        if self._skip:
            until, lines = self._skip
            if time < until:
                return False
            if time == until and lines:
                self._skip = (until, lines - 1)
                return False
            self._skip = None
        self._lines = self._lines + 1 if time == self.time else 1
        self.time = time
        return True


def _sortable(time: str) -> str:
    """Return a time whose text is ordered as the time is."""
    match = _TIME.fullmatch(time)
    return f"{match[1]}.{(match[2] or '').ljust(9, '0')}" if match else time
