"""``version``."""

from __future__ import annotations

import platform
import sys

import click

from kubeconnect import __version__


@click.command("version")
def version() -> None:
    """Print the version of this program.

    \b
      kubeconnect version
    """
    import google.protobuf
    import grpc

    sys.stdout.write(f"kubeconnect {__version__}\n")
    parts = {
        "Python": platform.python_version(),
        "grpcio": grpc.__version__,
        "protobuf": google.protobuf.__version__,
    }
    sys.stdout.write("".join(f"{name} {number}\n" for name, number in parts.items()))
