"""The command line. ``entry`` is the console script ``kubeconnect``.

The commands need click, which ``pip install 'kubeconnect[cli]'`` installs. No other module of the
package imports this one, so that ``import kubeconnect`` imports neither click nor rich nor PyYAML.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

INSTALL = "pip install 'kubeconnect[cli]'"


def entry() -> NoReturn:
    """Run the command of the process, and end the process."""
    try:
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt:  # before or after the command
        code = 130
    except OSError:  # stdout is closed, as the command has reported
        code = 1
    # The interpreter would abort if a thread that prints a log had a lock of stdout.
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return the exit code."""
    # The error of a call has what gRPC's core would log to stderr.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        from kubeconnect._cli._program import run
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        print(f"error: the command line needs click: {INSTALL}", file=sys.stderr)
        return 1
    return run(arguments)
