"""A program that reads the logs of several pods, with threads or with asyncio.

python log_lines.py threads|asyncio ADDRESS NAMESPACE

It follows the logs of the pods with the label app=web, and prints each line as a line of JSON, with
the steps "line-1", "line-2" and so on. After the line "stop" it prints the lines that contain
"one", without following the logs.
"""

from __future__ import annotations

from typing import Any

from steps import report, run

import kubeconnect
from kubeconnect import LineFilter, LogLine
from kubeconnect.aio import AsyncClient

ONE = LineFilter(contains="ONE", ignore_case=True)


def selection(namespace: str) -> dict[str, Any]:
    """Return the arguments that select the pods."""
    return {"namespace": namespace, "label_selector": "app=web"}


class Lines:
    """Reports lines, with their numbers."""

    def __init__(self) -> None:
        """Begin with the number 1."""
        self._count = 0

    def show(self, line: LogLine) -> bool:
        """Report a line, and return whether it is the last one to report."""
        self._count += 1
        step = f"line-{self._count}"
        report(step, pod=line.pod, container=line.container, text=line.text)
        return line.text == "stop"


def by_threads(address: str, namespace: str) -> None:
    """Follow the logs, and then read them."""
    found = Lines()
    with kubeconnect.Client(address) as client:
        with client.log_lines(follow=True, **selection(namespace)) as lines:
            for line in lines:
                if found.show(line):
                    break
        with client.log_lines(line_filter=ONE, **selection(namespace)) as lines:
            report("read", lines=[each.text for each in lines])


async def by_asyncio(address: str, namespace: str) -> None:
    """Do the same with asyncio."""
    found = Lines()
    async with AsyncClient(address) as client:
        async with client.log_lines(follow=True, **selection(namespace)) as lines:
            async for line in lines:
                if found.show(line):
                    break
        async with client.log_lines(line_filter=ONE, **selection(namespace)) as lines:
            report("read", lines=[each.text async for each in lines])


if __name__ == "__main__":
    run(by_threads, by_asyncio)
