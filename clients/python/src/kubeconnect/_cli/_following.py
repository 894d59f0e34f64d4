"""Following the logs of several pods, whose number may change."""

from __future__ import annotations

import sys
import threading
import zlib
from collections import deque
from dataclasses import replace

import click

from kubeconnect import Cancelled, Client, KubeconnectError, Watch
from kubeconnect._cli._batches import batches
from kubeconnect._cli._containers import Container, LogOptions, containers_of, prefix_of
from kubeconnect._cli._failures import note, report
from kubeconnect._cli._log_lines import read_lines
from kubeconnect._cli._terminal import has_colors, log_line

_COLORS = ("cyan", "green", "yellow", "magenta", "blue", "red")


class LogFollower:
    """Follows the logs of the containers of watched pods, each in a thread, up to a limit. Further
    ones wait until another log ends.
    """

    def __init__(self, client: Client, options: LogOptions, limit: int) -> None:
        """Print with ``options``."""
        self._client = client
        self._options = options
        self._limit = limit
        self._runs: dict[tuple[str, str], str] = {}  # the last run of each container
        self._guard = threading.Lock()  # guards the fields below, and stdout
        self._active = 0
        self._waiting: deque[tuple[Container, LogOptions]] = deque()
        self._error: Exception | None = None

    def run(self, watch: Watch) -> None:
        """Follow until the watch ends, or stdout is closed."""
        for changes in batches(watch):
            for change in changes:
                if change.type != "DELETED":
                    for container in containers_of(change.object, self._options):
                        self._note(container, change.initial, watch)
        if self._error:
            raise self._error

    def _note(self, container: Container, initial: bool, watch: Watch) -> None:
        """Follow a container that has started, and again when it was restarted."""
        key = (container.uid, container.name)
        if not container.run or self._runs.get(key) == container.run:
            return
        self._runs[key] = container.run
        # Of a container that has just started, nothing is left out.
        options = self._options if initial else replace(self._options, tail=None, since=None)
        with self._guard:
            if self._active >= self._limit:
                self._waiting.append((container, options))
                message = f"{prefix_of(container, options)}waits: {self._limit} logs are followed"
                note(f"warning: {message}; see --max-log-requests")
                return
            self._active += 1
        threading.Thread(
            target=self._work,
            args=(container, options, watch),
            name=f"kubeconnect log of {container.pod}",
            daemon=True,
        ).start()

    def _work(self, container: Container, options: LogOptions, watch: Watch) -> None:
        """Follow a log, and then those that wait."""
        following: tuple[Container, LogOptions] | None = (container, options)
        while following:
            try:
                self._print(*following)
            except Cancelled:
                return
            except KubeconnectError as error:
                report(error, prefix_of(*following))
            except Exception as error:
                self._error = error  # stdout is closed
                watch.close()
                return
            with self._guard:
                following = self._waiting.popleft() if self._waiting else None
                self._active -= not following

    def _print(self, container: Container, options: LogOptions) -> None:
        prefix = prefix_of(container, options) if options.prefix else ""
        if prefix and has_colors():
            color = _COLORS[zlib.crc32(container.pod.encode()) % len(_COLORS)]
            prefix = click.style(prefix, fg=color)
        for line in read_lines(self._client, container, options, follow=True):
            with self._guard:
                sys.stdout.write(f"{prefix}{log_line(line)}\n")
                sys.stdout.flush()
