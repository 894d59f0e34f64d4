"""Prints the versions of Python and of the packages that are compared."""

import platform
from importlib.metadata import version

PACKAGES = ("kubeconnect", "grpcio", "protobuf", "kubernetes", "kr8s", "lightkube")

print("Python", platform.python_version(), end="")
for package in PACKAGES:
    print(f", {package} {version(package)}", end="")
