"""How a command ends that fails: one sentence on stderr, a hint, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from kubeconnect import ConfigurationError, KubeconnectError
from kubeconnect import _errors as errors

ADDRESS = "kubeconnect.address"
"""The key of the service's address in ``ctx.meta``, once it is known."""

FAILED = 1
INTERRUPTED = 130
"""The exit code after Ctrl-C, as of a program that SIGINT ends."""
_PIPE_CLOSED = 141
"""The exit code when the reader of stdout has ended, as of a program that SIGPIPE ends."""

_HINTS: dict[type[Exception], str] = {
    ConfigurationError: "pass --address, or set KUBECONNECT_ADDRESS",
    errors.Unauthenticated: "pass --token-file, or set KUBECONNECT_TOKEN_FILE",
    errors.Forbidden: "`kubeconnect who-am-i` prints your identity, and `kubeconnect can-i` checks "
    "a permission",
    errors.Conflict: "read the object again, or use --force-conflicts to apply it",
    errors.Expired: "run the command again",
}


@contextmanager
def reporting_failures(ctx: click.Context) -> Iterator[None]:
    """Print the error of the block, and exit. Errors of the usage are left to click."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        ctx.exit(INTERRUPTED)
    except BrokenPipeError:
        _discard_output()
        ctx.exit(_PIPE_CLOSED)
    except (KubeconnectError, ValueError, OSError, ImportError) as error:
        report(error)
        ctx.exit(FAILED)


def report(error: Exception, prefix: str = "") -> None:
    """Print an error, its causes and a hint. ``prefix`` names what has failed."""
    click.echo(f"error: {prefix}{_sentence(error)}", err=True)
    for cause in getattr(error, "causes", ())[:10]:
        if cause.message and cause.message not in str(error):
            click.echo(f"  {cause.field}: {cause.message}".replace("  : ", "  "), err=True)
    if hint := _hint(error):
        click.echo(f"hint: {hint}", err=True)


def warn(warnings: Iterable[str]) -> None:
    """Print warnings of the service."""
    for each in warnings:
        click.echo(f"warning: {each}", err=True)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _hint(error: Exception) -> str | None:
    if isinstance(error, KubeconnectError) and error.retry_after_seconds:
        return f"try again in {error.retry_after_seconds} seconds"
    if isinstance(error, errors.Unavailable):
        return None if error.status else _reachability()
    return next((hint for kind, hint in _HINTS.items() if isinstance(error, kind)), None)


def _reachability() -> str:
    ctx = click.get_current_context(silent=True)
    address = ctx.meta.get(ADDRESS) if ctx else None
    return f"check that kubeconnect runs at {address}" if address else "check the address"


def _discard_output() -> None:
    """Let the interpreter flush stdout at its end without another error."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        pass  # stdout is not a file
