"""How a command ends that fails: one sentence on stderr, a hint, and an exit code.

All that is written to stderr is escaped, because errors and warnings quote texts of others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from kubeconnect import ConfigurationError, KubeconnectError
from kubeconnect import _errors as errors
from kubeconnect._cli._terminal import printable, visible

ADDRESS = "kubeconnect.address"
"""The key of the service's address in ``ctx.meta``, once it is known."""

FAILED = 1
INTERRUPTED = 130
"""The exit code after Ctrl-C, as of a program that SIGINT ends."""
_PIPE_CLOSED = 141
"""The exit code when the reader of stdout has ended, as of a program that SIGPIPE ends."""

_HINTS: dict[type[Exception], str] = {
    errors.Unauthenticated: "pass --token-file or --context, or set KUBECONNECT_TOKEN_FILE or "
    "KUBECONNECT_CONTEXT",
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
        ctx.exit(pipe_closed())
    except (KubeconnectError, ValueError, OSError, ImportError) as error:
        report(error)
        ctx.exit(FAILED)


def note(text: str) -> None:
    """Print a line, or several lines, to stderr."""
    click.echo(visible(text), err=True)


def report(error: Exception, prefix: str = "") -> None:
    """Print an error, its causes and a hint. ``prefix`` names what has failed."""
    note(f"error: {prefix}{_sentence(error)}")
    for cause in getattr(error, "causes", ())[:10]:
        if cause.message and cause.message not in str(error):
            note(f"  {cause.field}: {cause.message}".replace("  : ", "  "))
    if hint := _hint(error):
        note(f"hint: {hint}")


def warn(warnings: Iterable[str]) -> None:
    """Print warnings of the service, each in one line."""
    for each in warnings:
        note(f"warning: {printable(each)}")


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = str(error) or type(error).__name__
    address = _address()
    prefix = f"kubeconnect is unreachable at {address}: "
    named = not address or text.startswith(prefix)
    return prefix + text if _is_of_connection(error) and not named else text


def _hint(error: Exception) -> str | None:
    if isinstance(error, KubeconnectError) and error.retry_after_seconds:
        return f"try again in {error.retry_after_seconds} seconds"
    if _is_of_connection(error):
        return _connection_hint(str(error), _address())
    if isinstance(error, ConfigurationError):
        without = str(error).startswith("no address")
        return "pass --address, or set KUBECONNECT_ADDRESS" if without else None
    return next((hint for kind, hint in _HINTS.items() if isinstance(error, kind)), None)


def _is_of_connection(error: Exception) -> bool:
    """Return whether the error is not one that the service has sent."""
    return isinstance(error, errors.Unavailable) and error.status is None


def _connection_hint(message: str, address: str) -> str | None:
    if "is not trusted" in message:
        return "pass the authority of its certificate as --ca-file, or set KUBECONNECT_CA_FILE"
    if "does not use TLS" in message:
        return f"the service may speak plain text: use {address.replace('https:', 'http:')}"
    return None


def _address() -> str:
    ctx = click.get_current_context(silent=True)
    return str(ctx.meta.get(ADDRESS, "")) if ctx else ""


def pipe_closed() -> int:
    """Discard further output, and return the exit code."""
    discard_output()
    return _PIPE_CLOSED


def discard_output() -> None:
    """Let the interpreter flush stdout at its end without another error."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        pass  # stdout is not a file
