"""Commands that change several objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import click

from kubeconnect import KubeconnectError, Unauthenticated, Unavailable
from kubeconnect._cli._failures import FAILED, report

T = TypeVar("T")


def for_each(items: Iterable[T], run: Callable[[T], None]) -> None:
    """Run a function for each item. An error is reported and the next item follows; at the end
    the command fails.
    """
    failed = False
    for item in items:
        try:
            run(item)
        except (Unauthenticated, Unavailable):
            raise  # as all others would
        except KubeconnectError as error:
            report(error)
            failed = True
    if failed:
        raise click.exceptions.Exit(FAILED)
