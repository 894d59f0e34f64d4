"""The places of settings outside of the program: the environment, the pod, and the user's file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubeconnect._settings import ConfigurationError, Place, Settings

POD_ADDRESS = "https://kubeconnect.kubeconnect.svc"
"""The Service that ``helm install kubeconnect deploy/kubeconnect --namespace kubeconnect``
creates, on port 443."""

POD_TOKEN_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
"""The token of a pod's service account, which the kubelet renews."""

_VARIABLES = {
    "address": "KUBECONNECT_ADDRESS",
    "token": "KUBECONNECT_TOKEN",
    "token_file": "KUBECONNECT_TOKEN_FILE",
    "ca_file": "KUBECONNECT_CA_FILE",
    "context": "KUBECONNECT_CONTEXT",
}

_PATHS = ("token_file", "ca_file", "client_certificate", "client_key", "kubeconfig")
_KEYS = ("address", "token", *_PATHS, "context", "timeout")


def places() -> Iterator[Place[str]]:
    """Return the places outside of the program, the first one first.

    Raises ConfigurationError if the file is invalid, and OSError if it cannot be read.
    """
    yield _environment()
    if missing := _missing_in_pod():
        yield Place("the pod", Settings(), missing)
        yield _file(file_path())
    else:
        # Two places, because the token is for each name of the service within the cluster.
        yield Place("the pod", Settings(token_file=POD_TOKEN_FILE), only_within_cluster=True)
        yield Place("the default in a pod", Settings(address=POD_ADDRESS))


def file_path() -> Path:
    """Return the path of the user's file, whether or not it exists."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):  # as the specification of XDG requires
        folder = os.path.expanduser("~/.config")
    return Path(folder, "kubeconnect.toml")


def _environment() -> Place[str]:
    """Return the settings of the environment. Variables that are empty are not set."""
    values = {key: os.environ.get(name, "").strip() for key, name in _VARIABLES.items()}
    settings: dict[str, Any] = {key: value for key, value in values.items() if value}
    return Place("the environment", Settings(**settings), "KUBECONNECT_ADDRESS is not set")


def _missing_in_pod() -> str:
    """Return why this program is not in a pod with a token; empty if it is."""
    if not os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "not in a cluster (KUBERNETES_SERVICE_HOST is not set)"
    return "" if os.path.exists(POD_TOKEN_FILE) else f"{POD_TOKEN_FILE} does not exist"


def _file(path: Path) -> Place[str]:
    if not os.path.isfile(path):
        return Place(str(path), Settings(), f"{path} does not exist")
    settings = {key: _value(path, key, value) for key, value in _table(path).items()}
    if "kubeconfig" in settings and "context" not in settings:
        # The current context changes with the user's work, and this file has one address.
        raise ConfigurationError(
            f"{path}: kubeconfig needs context, the name of one of its contexts"
        )
    return Place(str(path), Settings(**settings), f"{path} has no address")


def _table(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):  # slow to import
        import tomllib
    else:
        import tomli as tomllib
    try:
        return dict(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ConfigurationError(f"{path}: invalid TOML: {error}") from error


def _value(path: Path, key: str, value: object) -> Any:
    """Return a setting of the file. Its errors do not have the value, which may be a token."""
    if key not in _KEYS:
        raise ConfigurationError(f'{path}: unknown key "{key}": use {", ".join(_KEYS)}')
    if key == "timeout":
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
            raise ConfigurationError(f"{path}: timeout must be more than 0 seconds")
        return float(value)
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"{path}: {key} must be a string that is not empty")
    return path.parent / os.path.expanduser(value) if key in _PATHS else value
