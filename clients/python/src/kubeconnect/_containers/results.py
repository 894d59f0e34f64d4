"""What calls into containers return and raise."""

from __future__ import annotations

from dataclasses import dataclass

import grpc

from kubeconnect._errors import KubeconnectError
from kubeconnect._logs import LogStream


@dataclass(frozen=True)
class ExecResult:
    """The output and the exit code of a command in a container."""

    stdout: bytes
    """What the command has printed to its standard output."""
    stderr: bytes
    """What the command has printed to its standard error."""
    exit_code: int
    """0 if the command has succeeded."""


@dataclass(frozen=True)
class OutputChunk:
    """A part of the output of a container, as it arrived."""

    stream: LogStream
    """``LogStream.STDOUT`` or ``LogStream.STDERR``. A terminal has only ``STDOUT``."""
    data: bytes
    """Its bytes, which may begin and end within a line or a character."""


class CopyError(KubeconnectError):
    """Files could not be copied, because tar failed in the container, or because its archive is
    invalid or has a path that leaves the target. ``exit_code`` is the exit code of tar, and
    ``stderr`` what it printed.
    """

    def __init__(self, message: str, *, exit_code: int = 0, stderr: bytes = b"") -> None:
        """Store the arguments as attributes."""
        super().__init__(grpc.StatusCode.FAILED_PRECONDITION, message)
        self.exit_code = exit_code
        self.stderr = stderr

    def __reduce__(self) -> tuple[object, ...]:
        """Return how the error is copied: from its message, and with its attributes."""
        return type(self), (self.message,), self.__dict__


def copy_failed(result: ExecResult) -> CopyError:
    """Return the error for a tar that has failed."""
    printed = result.stderr.decode(errors="replace").strip()
    message = f"tar ended with exit code {result.exit_code} in the container"
    return CopyError(
        f"{message}: {printed}" if printed else message,
        exit_code=result.exit_code,
        stderr=result.stderr,
    )
