"""The command line. ``main`` is the console script ``kubeconnect``.

The commands need click, which ``pip install 'kubeconnect[cli]'`` installs. No other module of the
package imports this one, so that ``import kubeconnect`` imports neither click nor rich nor PyYAML.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INSTALL = "pip install 'kubeconnect[cli]'"


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
